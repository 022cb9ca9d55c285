"""A suggested fix is a request: method, path and body, which a program sends as they are."""

import json
from typing import Any

import msgspec
import pytest
from django.db import transaction
from django.utils import timezone
from rest_framework.test import APIClient

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.actor import SYSTEM
from registry_app.models import (
    AuditEntry,
    Claim,
    Finding,
    HeldSnapshot,
    LoopRun,
    Owner,
    Provider,
    RegistryProfile,
    SyncRun,
    Transfer,
)
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_administrator, make_finding, make_owner, make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_claim_encrypted_otherwise, make_record
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = [pytest.mark.django_db, pytest.mark.deep]

_HERITAGE = '"heritage=external-dns,external-dns/owner=blue-cluster"'
_KEY = "0123456789abcdef0123456789abcdef"
_SEALED = TxtProfile(prefix="sealed-", encryption_key=_KEY.encode())
_SETTLED_BY_A_TRANSFER = {
    "orphan_claim": "clean_up",
    "superseded_claim": "clean_up",
    "obsolete_claim": "clean_up",
    "legacy_claim": "reformat",
    "encrypted_otherwise": "reformat",
    "unmanaged_in_pattern": "adopt",
    "conflict": "transfer",
    "split_owner": "transfer",
}


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


@pytest.fixture
def blue_zone() -> Provider:
    """A provider at which everything is wrong that a transfer can put right."""
    make_owner("blue-cluster", name_patterns=["example.org"])
    make_owner("green-cluster")
    RegistryProfile.objects.create(name="own", prefix="own-")
    sealed = RegistryProfile.objects.create(name="sealed", prefix="sealed-", encryption_key=_KEY)
    make_owner("edge-cluster", registry_profile=sealed)
    with ReferenceProvider(_build_zone()) as reference:
        provider = make_provider(url=reference.url, max_transfer_percent=100)
        run = sync_provider(provider.pk, actor=SYSTEM, trigger="person")
    assert run is not None
    assert run.status == "stored", run.error
    provider.refresh_from_db()
    return provider


def _build_zone() -> list[Endpoint]:
    alias = msgspec.structs.replace(
        make_record("alias.example.org"), provider_specific=(ProviderSpecificProperty("alias", "true"),)
    )
    return [
        make_claim("gone.example.org"),
        make_record("both.example.org"),
        make_claim("both.example.org"),
        make_record("both.example.org", "TXT", (_HERITAGE,)),
        make_record("old.example.org"),
        make_record("old.example.org", "TXT", (_HERITAGE,)),
        make_record("red.example.org"),
        make_claim("red.example.org", owner="red-cluster"),
        make_record("free.example.org"),
        make_record("torn.example.org"),
        make_claim("torn.example.org"),
        make_claim("torn.example.org", owner="green-cluster", profile=TxtProfile(prefix="own-")),
        make_record("split.example.org"),
        make_claim("split.example.org"),
        make_record("split.example.org", "AAAA", ("2001:db8::1",)),
        make_claim("split.example.org", "AAAA", "green-cluster"),
        make_record("edge.example.org"),
        make_claim_encrypted_otherwise("edge.example.org", "edge-cluster", _SEALED),
        alias,
        make_claim("alias.example.org"),
        make_claim("alias.example.org", "CNAME"),
    ]


def test_every_suggestion_is_accepted_as_it_stands(client: APIClient, blue_zone: Provider) -> None:
    _make_other_findings(blue_zone)
    acts: dict[str, set[str]] = {}

    for finding in items(client, "/findings/?limit=1000"):
        suggestion = finding["suggestion"]
        if suggestion is None:
            continue
        with transaction.atomic():
            answer = _send(client, suggestion)
            transaction.set_rollback(True)
        assert answer.status_code in (200, 201), (finding, answer.content)
        acts.setdefault(finding["kind"], set()).add(suggestion["kind"])

    assert acts == {
        **{kind: {act} for kind, act in _SETTLED_BY_A_TRANSFER.items()},
        "unregistered_owner": {"register_owner"},
        "snapshot_held": {"accept_snapshot"},
        "changed_back": {"transfer"},
        "transfer_stuck": {"look_at_transfer"},
        "loop_stuck": {"look_at_loop_run"},
    }


def test_a_suggested_clean_up_is_requested_by_sending_it(client: APIClient, blue_zone: Provider) -> None:
    (finding,) = items(client, "/findings/?kind=orphan_claim")

    answer = _send(client, finding["suggestion"])

    transfer = Transfer.objects.get()
    assert answer.status_code == 201, answer.content
    assert (transfer.kind, transfer.item_count) == ("clean_up", 1)
    assert transfer.items.get().name == "gone.example.org"
    assert transfer.reason == f"Finding {finding['id']}: Claim without record."


def test_a_suggested_transfer_is_previewed_and_then_sent_with_what_the_preview_says(
    client: APIClient, blue_zone: Provider
) -> None:
    (finding,) = items(client, "/findings/?kind=conflict")
    suggestion = finding["suggestion"]

    (plan,) = read(_send(client, suggestion))["plans"]
    seen = {str(plan["provider"]["id"]): plan["fingerprint"]}
    body = {**suggestion["body"], "confirmation": plan["confirmation_text"], "fingerprints": seen}
    answer = client.post(f"{API}/transfers/", body)

    assert (answer.status_code, plan["refusals"]) == (201, []), answer.content
    assert Transfer.objects.get().items.get().name == finding["name"]


def test_a_suggested_registration_registers_an_owner_seen_in_claims(
    client: APIClient, blue_zone: Provider
) -> None:
    (finding,) = items(client, "/findings/?kind=unregistered_owner")
    assert Owner.objects.get(owner_id="red-cluster").status == "discovered"

    answer = _send(client, finding["suggestion"])
    again = _send(client, finding["suggestion"])

    assert (answer.status_code, read(answer)["status"]) == (201, "registered")
    assert (again.status_code, list(read(again)["fields"])) == (422, ["owner_id"])
    assert AuditEntry.objects.filter(action="owner.registered", object_label="red-cluster").count() == 1


def test_a_conflict_between_owners_nobody_registered_asks_to_register_one(
    client: APIClient, blue_zone: Provider
) -> None:
    Owner.objects.filter(owner_id__in=("blue-cluster", "green-cluster")).update(status="decommissioned")

    (finding,) = items(client, "/findings/?kind=conflict")

    assert finding["suggestion"]["body"] == {"owner_id": "blue-cluster"}
    assert _send(client, finding["suggestion"]).status_code == 201


def _send(client: APIClient, suggestion: dict[str, Any]) -> Any:
    """As a program would: nothing is added, nothing changed."""
    assert set(suggestion) == {"kind", "method", "path", "body"}
    body = "" if suggestion["body"] is None else json.dumps(suggestion["body"])
    return client.generic(suggestion["method"], suggestion["path"], body, "application/json")


def _make_other_findings(provider: Provider) -> None:
    """What no reading of this zone finds, with the suggestion that is stored with each."""
    now = timezone.now()
    transfer = _make_transfer(provider)
    owner = Owner.objects.get(owner_id="blue-cluster")
    loop_run = LoopRun.objects.create(
        owner=owner, provider=provider, epoch=9, trigger="person", policy="sync", started_at=now
    )
    run = SyncRun.objects.create(provider=provider, epoch=9, trigger="schedule", started_at=now)
    held = HeldSnapshot.objects.create(
        provider=provider, sync_run=run, body=b"[]", body_digest="d", created_at=now, last_seen_at=now
    )
    changed_back = {
        "kind": "transfer",
        "target_owner_id": "green-cluster",
        "selection": {"provider_id": provider.pk, "names": ["old.example.org"], "record_types": ["A"]},
    }
    for kind, suggestion in {
        "snapshot_held": {"kind": "accept_snapshot", "held_snapshot_id": held.pk},
        "changed_back": changed_back,
        "transfer_stuck": {"kind": "look_at_transfer", "transfer_id": transfer.pk},
        "loop_stuck": {"kind": "look_at_loop_run", "loop_run_id": str(loop_run.public_id)},
    }.items():
        make_finding(provider=provider, kind=kind, suggestion=suggestion)


def test_a_claim_that_is_gone_widens_nothing(client: APIClient, blue_zone: Provider) -> None:
    orphan = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)
    Claim.objects.filter(provider=blue_zone, record_name="gone.example.org").delete()

    answer = client.get(f"{API}/findings/{orphan.pk}/")

    assert read(answer)["suggestion"] is None


def _make_transfer(provider: Provider) -> Transfer:
    return Transfer.objects.create(
        provider=provider,
        kind="transfer",
        reason="x",
        requested_by_name="alice",
        plan_fingerprint="0" * 64,
        approval_policy="none",
        expires_at=provider.created_at,
    )


@pytest.mark.parametrize("field", ["owner", "name_suffix"])
@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_text_does_not_widen_a_selection(
    client: APIClient, blue_zone: Provider, field: str, text: str
) -> None:
    body = {
        "kind": "transfer",
        "selection": {"provider": blue_zone.pk, field: text},
        "target_owner": "green-cluster",
        "reason": "A variable was not set.",
    }

    answer = client.post(f"{API}/transfers/", body)

    assert answer.status_code in (404, 422), answer.content
    assert not Transfer.objects.exists()
