"""A registry profile of the database that keeps the TXT records too: they are copies, and the rows decide."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.exceptions import ValidationError

from providers.registries.labels import parse_labels
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM, Actor
from registry_app.clock import fetch_now
from registry_app.inventory.instance import change_instance
from registry_app.models import (
    DatabaseClaim,
    Finding,
    GuardDecision,
    GuardEndpoint,
    Provider,
    RegistryProfile,
    Transfer,
)
from registry_app.transfer.send.run_transfer import run_transfer
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.recordings import KEY
from tests.external_dns.settings import Settings
from tests.factories import make_owner
from tests.providers.planning.planned import wanted
from tests.registry_app.guard.keeping import LIMITS, ForgettingProvider, list_rows, make_database_profile
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.loop.world import let_time_pass
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = [pytest.mark.django_db(transaction=True)]
WWW = "www.example.org"
_WANTED = [
    wanted(WWW),
    wanted(WWW, "AAAA", ["2001:db8::1"]),
    wanted("api.example.org", "CNAME", ["lb.example.net"]),
    wanted("*.w.example.org"),
]
_FLAGS = {"prefix": "own.", "wildcard_replacement": "any"}


@contextmanager
def _serve(folder: Path, kind: str = "database", **values: Any) -> Iterator[tuple[Guarded, Instance]]:
    """A guard endpoint whose instance writes into the database and the zone; nothing is there yet."""
    with guarded(
        folder,
        value_exact=False,
        reference_type=ForgettingProvider,
        first_changes_at=fetch_now(),
        **LIMITS,
    ) as guard:
        Provider.objects.update(
            max_transfer_count=100,
            max_transfer_percent=100,
            read_back_seconds=0,
            approval_policy=Provider.ApprovalPolicy.NONE,
        )
        if kind == "database":
            profile = _keep_txt(guard, **values)
        else:
            profile = RegistryProfile.objects.create(name="in the zone", **_FLAGS, **values)
        change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": profile})
        key = values.get("encryption_key")
        flags = {"encryption_key": key.encode()} if key else {}
        settings = Settings(guard.url, BLUE, txt_prefix="own.", wildcard_replacement="any", **flags)
        with Instance(settings, _WANTED) as blue:
            yield guard, blue


def _keep_txt(guard: Guarded, **values: Any) -> RegistryProfile:
    return make_database_profile(guard.endpoint.provider, "both", keeps_txt=True, **_FLAGS, **values)


def _texts(guard: Guarded) -> dict[str, Endpoint]:
    zone = guard.reference.backend.records()
    return {each.dns_name: each for each in zone if each.record_type == "TXT"}


def _owners_in_zone(guard: Guarded) -> set[str]:
    labels = (parse_labels(each.targets[0]) or {} for each in _texts(guard).values())
    return {each.get("owner", "") for each in labels}


def _owners(guard: Guarded) -> set[tuple[str, str]]:
    """Whose everything is, by a sync: owner and state."""
    sync(guard.endpoint.provider)
    rows = guard.endpoint.provider.record_sets.filter(missing_since__isnull=True)
    return set(rows.values_list("owner__owner_id", "state"))


def _overwrite_copy(guard: Guarded, name: str, owner_id: str) -> None:
    """Somebody writes another owner into a TXT record of the zone."""
    old, text = _texts(guard)[name], f'"heritage=external-dns,external-dns/owner={owner_id}"'
    new = msgspec.structs.replace(old, targets=(text,))
    guard.reference.backend.apply(ChangeSet(update_old=(old,), update_new=(new,)))


def _findings() -> list[str]:
    return list(Finding.objects.filter(kind="copy_differs", state="open").values_list("name", flat=True))


def _run(alice: Actor, kind: str) -> Transfer:
    transfer = request(alice, ask(kind))
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


@pytest.mark.parametrize("key", ["", KEY.decode()])
def test_claims_are_rows_and_txt_records_and_the_instance_sees_them_once(tmp_path: Path, key: str) -> None:
    with _serve(tmp_path, encryption_key=key) as (guard, blue):
        created = [blue.run_once().outcome for _ in range(2)]
        shown = [each.dns_name for each in guard.read() if each.record_type == "TXT"]
        names, rows = set(_texts(guard)), list_rows()
        blue.desired = [wanted(WWW, targets=["192.0.2.9"], resource="ingress/shop/other")]
        changed = [blue.run_once().outcome for _ in range(2)]

        assert created == [Outcome.CHANGED, Outcome.QUIET], blue.last_result
        assert changed == [Outcome.CHANGED, Outcome.QUIET], blue.last_result
        assert names == {"own.a-www.example.org", "own.aaaa-www.example.org"} | {
            "own.cname-api.example.org",
            "own.a-any.w.example.org",
        }
        assert sorted(shown) == sorted(names)
        assert set(rows.values()) == {(BLUE, True)}
        assert len(rows) == len(_WANTED)
        assert list(_texts(guard)) == ["own.a-www.example.org"]
        assert list_rows() == {(WWW, "A"): (BLUE, True)}
        assert _owners(guard) == {(BLUE, "owned")}
        assert _findings() == []
    assert not GuardDecision.objects.exists()


def test_a_copy_that_differs_decides_nothing_is_a_finding_and_a_reformat_repairs_it(tmp_path: Path) -> None:
    alice = make_alice()
    with _serve(tmp_path) as (guard, blue):
        make_owner(GREEN)
        blue.run_once()
        _overwrite_copy(guard, "own.a-www.example.org", GREEN)

        owners = _owners(guard)
        (finding,) = Finding.objects.filter(kind="copy_differs", state="open")
        outcome = blue.run_once().outcome
        blue.desired = [*_WANTED[1:], wanted(WWW, targets=["192.0.2.9"])]
        changed = [blue.run_once().outcome for _ in range(2)]
        sync(guard.endpoint.provider)
        repaired = _run(alice, "reformat")

        assert owners == {(BLUE, "owned")}
        assert "own.a-www.example.org has heritage=external-dns,external-dns/owner=green" in (
            finding.explanation
        )
        assert finding.suggestion["kind"] == "reformat"
        assert [outcome, *changed] == [Outcome.QUIET, Outcome.CHANGED, Outcome.QUIET]
        assert repaired.status == Transfer.Status.VERIFIED, repaired.status_reason
        assert _owners(guard) == {(BLUE, "owned")}
        assert _owners_in_zone(guard) == {BLUE}
        assert _findings() == []
    assert not Finding.objects.filter(kind__in=("conflict", "unheard_claim")).exists()


@pytest.mark.parametrize("crash_at", ["", "transfer.write_settled"])
def test_a_transfer_rewrites_both_and_the_row_decides_in_between(
    forks: Forks, tmp_path: Path, crash_at: str
) -> None:
    alice = make_alice()
    with _serve(tmp_path) as (guard, blue):
        profile = RegistryProfile.objects.get()
        make_owner(GREEN).instances.create(name="green", registry_profile=profile)
        blue.run_once()
        sync(guard.endpoint.provider)
        transfer = request(alice, ask())

        if crash_at:
            assert forks.act("run", transfer.pk, crash_at=crash_at).was_killed
            let_time_pass()
            between = _owners_in_zone(guard), _owners(guard), len(_findings())
            assert between == ({GREEN}, {(BLUE, "owned")}, len(_WANTED))
        run_transfer(transfer.pk)
        outcome = blue.run_once().outcome

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert _owners_in_zone(guard) == {GREEN}
        assert set(DatabaseClaim.objects.values_list("owner_id", flat=True)) == {GREEN}
        assert _owners(guard) == {(GREEN, "owned")}
        assert outcome is Outcome.QUIET
        assert _findings() == []


def test_moving_in_leaves_the_txt_records_and_moving_out_the_rows_go(tmp_path: Path) -> None:
    alice = make_alice()
    with _serve(tmp_path, "txt") as (guard, blue):
        txt = RegistryProfile.objects.get()
        blue.run_once()
        before = _texts(guard)

        change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": _keep_txt(guard)})
        sync(guard.endpoint.provider)
        moved_in = _run(alice, "reformat")
        inside, rows = _texts(guard), DatabaseClaim.objects.count()
        outcome = blue.run_once().outcome
        sent = len(guard.reference.history.requests("POST /records"))
        change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": txt})
        sync(guard.endpoint.provider)
        moved_out = _run(alice, "reformat")

        assert [moved_in.status, moved_out.status] == ["verified", "verified"], moved_out.status_reason
        assert (inside, rows, outcome) == (before, len(_WANTED), Outcome.QUIET)
        assert _texts(guard) == before
        assert len(guard.reference.history.requests("POST /records")) == sent
        assert DatabaseClaim.objects.count() == 0
        assert _owners(guard) == {(BLUE, "owned")}
        assert blue.run_once().outcome is Outcome.QUIET


def test_losing_the_rows_loses_no_owner(tmp_path: Path) -> None:
    with _serve(tmp_path) as (guard, blue):
        blue.run_once()

        DatabaseClaim.objects.all().delete()
        GuardEndpoint.objects.update(mode=GuardEndpoint.Mode.DRY_RUN)

        assert _owners(guard) == {(BLUE, "owned")}
        assert blue.run_once().outcome is Outcome.QUIET


def test_rows_without_copies_get_them_by_a_reformat_and_releasing_removes_both(tmp_path: Path) -> None:
    alice = make_alice()
    with _serve(tmp_path) as (guard, blue):
        RegistryProfile.objects.update(keeps_txt=False)
        blue.run_once()
        assert _texts(guard) == {}
        RegistryProfile.objects.update(keeps_txt=True)
        sync(guard.endpoint.provider)
        missing = len(_findings())

        written = _run(alice, "reformat")
        copies = len(_texts(guard))
        findings = (sync(guard.endpoint.provider), _findings())[1]
        released = _run(alice, "release")

        assert missing == len(_WANTED)
        assert written.status == "verified", written.status_reason
        assert (copies, findings) == (len(_WANTED), [])
        assert released.status == "verified", released.status_reason
        assert _texts(guard) == {}
        assert DatabaseClaim.objects.count() == 0


def test_no_other_kind_keeps_copies() -> None:
    profile = RegistryProfile(name="in the zone", keeps_txt=True)

    with pytest.raises(ValidationError, match="Only claims in the database have copies"):
        profile.clean()
