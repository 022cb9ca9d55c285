"""A suggested fix is a request: a program sends it as it stands, and adds why."""

from typing import Any

import msgspec
import pytest
from rest_framework.test import APIClient

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.actor import SYSTEM
from registry_app.models import Claim, Finding, Provider, RegistryProfile, Transfer
from registry_app.reconcile.visit import visit_provider
from tests.factories import make_administrator, make_finding, make_owner, make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_claim_encrypted_otherwise, make_record
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db

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
        run = visit_provider(provider.pk, actor=SYSTEM, trigger="person")
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


@pytest.mark.parametrize(("kind", "act"), _SETTLED_BY_A_TRANSFER.items())
def test_it_is_taken_as_it_stands(client: APIClient, blue_zone: Provider, kind: str, act: str) -> None:
    finding, *_ = items(client, f"/findings/?kind={kind}")
    body: dict[str, Any] = {
        "reason": "As it was suggested.",
        "target_intent": "same",
        **finding["suggestion"],
    }
    if act in ("transfer", "adopt"):
        body.setdefault("target_owner", "green-cluster")

    plan = read(client.post(f"{API}/transfers/preview/", body))["plans"][0]
    answer = client.post(f"{API}/transfers/", {**body, "confirmation": plan["confirmation_text"]})

    assert answer.status_code == 201, answer.content
    transfer = Transfer.objects.get()
    assert (transfer.kind, transfer.item_count) == (act, 1)
    assert transfer.items.get().name == finding["name"]


def test_a_claim_that_is_gone_widens_nothing(client: APIClient, blue_zone: Provider) -> None:
    orphan = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)
    Claim.objects.filter(provider=blue_zone, record_name="gone.example.org").delete()

    answer = client.get(f"{API}/findings/{orphan.pk}/")

    assert read(answer)["suggestion"] == {}


def test_a_transfer_is_named_as_the_api_names_it(client: APIClient) -> None:
    provider = make_provider()
    transfer = Transfer.objects.create(
        provider=provider,
        kind="transfer",
        reason="x",
        requested_by_name="alice",
        plan_fingerprint="0" * 64,
        approval_policy="none",
        expires_at=provider.created_at,
    )
    told = {"kind": "look_at_transfer", "transfer_id": transfer.pk}
    make_finding(provider=provider, suggestion=told)

    (finding,) = items(client, "/findings/")

    assert finding["suggestion"]["transfer_id"] == str(transfer.public_id)


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
