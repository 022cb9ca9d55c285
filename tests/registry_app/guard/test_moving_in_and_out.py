"""Claims move from TXT records into the database and out again, while the instance runs on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from django.db import connections

from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM, Actor
from registry_app.clock import fetch_now
from registry_app.inventory.instance import change_instance
from registry_app.models import (
    DatabaseClaim,
    GuardEndpoint,
    Provider,
    RegistryProfile,
    Transfer,
    TransferStep,
)
from registry_app.transfer.send.run_transfer import run_transfer
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_owner
from tests.providers.planning.planned import wanted
from tests.registry_app.guard.keeping import LIMITS, ForgettingProvider, make_database_profile
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = [pytest.mark.django_db(transaction=True)]
_WANTED = [
    wanted("www.example.org"),
    wanted("www.example.org", "AAAA", ["2001:db8::1"]),
    wanted("api.example.org", "CNAME", ["lb.example.net"]),
    wanted("*.w.example.org"),
    *(wanted(f"app-{number}.example.org") for number in range(12)),
]
_SETTINGS = {"reference_type": ForgettingProvider, **LIMITS}
_NO_LIMITS = {
    "max_transfer_count": 100,
    "max_transfer_percent": 100,
    "read_back_seconds": 0,
    "approval_policy": Provider.ApprovalPolicy.NONE,
}


@contextmanager
def _running(guard: Guarded, instance: Instance) -> Iterator[list[Outcome]]:
    """The instance syncs again and again in a thread of its own."""
    outcomes: list[Outcome] = []
    is_over = Event()

    def run() -> None:
        while not is_over.is_set():
            outcomes.append(instance.run_once().outcome)
        connections.close_all()

    thread = Thread(target=run)
    thread.start()
    try:
        yield outcomes
    finally:
        is_over.set()
        thread.join()


def _records(guard: Guarded) -> list[Endpoint]:
    found = (each for each in guard.reference.backend.records() if each.record_type != "TXT")
    return sorted(found, key=lambda each: (each.dns_name, each.record_type))


def _texts(guard: Guarded) -> dict[str, tuple[str, ...]]:
    zone = guard.reference.backend.records()
    return {each.dns_name: each.targets for each in zone if each.record_type == "TXT"}


def _move(guard: Guarded, alice: Actor, profile: RegistryProfile) -> Transfer:
    """The instance gets another registry profile, and what its owner has is re-formatted."""
    change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": profile})
    sync(guard.endpoint.provider)
    transfer = request(alice, ask("reformat"))
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def test_nothing_changes_for_the_instance_and_the_zone_has_its_claims_back(tmp_path: Path) -> None:
    alice = make_alice()
    with guarded(tmp_path, value_exact=False, **_SETTINGS) as guard:
        Provider.objects.update(**_NO_LIMITS)
        GuardEndpoint.objects.update(first_changes_at=fetch_now())
        flags = {"prefix": "own.", "wildcard_replacement": "any"}
        txt = RegistryProfile.objects.create(name="in the zone", **flags)
        database = make_database_profile(guard.endpoint.provider, "in the database", **flags)
        change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": txt})
        settings = Settings(guard.url, BLUE, txt_prefix="own.", wildcard_replacement="any")
        with Instance(settings, _WANTED) as blue:
            assert blue.run_once().outcome is Outcome.CHANGED
            before, texts = _records(guard), _texts(guard)

            with _running(guard, blue) as outcomes:
                moved_in = _move(guard, alice, database)
                inside, rows = _texts(guard), DatabaseClaim.objects.count()
                moved_out = _move(guard, alice, txt)
            last = blue.run_once().outcome

        assert [moved_in.status, moved_out.status] == ["verified", "verified"], moved_out.status_reason
        assert (inside, rows) == ({}, len(_WANTED))
        assert _records(guard) == before
        assert _texts(guard) == texts
        assert DatabaseClaim.objects.count() == 0
        assert set(outcomes) <= {Outcome.QUIET, Outcome.SOFT_ERROR}
        assert last is Outcome.QUIET


def test_a_transfer_within_one_profile_is_a_row_and_no_request(tmp_path: Path) -> None:
    alice = make_alice()
    with guarded(tmp_path, value_exact=False, **_SETTINGS) as guard:
        Provider.objects.update(**_NO_LIMITS)
        GuardEndpoint.objects.update(first_changes_at=fetch_now())
        profile = make_database_profile(guard.endpoint.provider, "in the database")
        change_instance(SYSTEM, guard.endpoint.instance.pk, {"registry_profile": profile})
        make_owner(GREEN).instances.create(name="green", registry_profile=profile)
        with Instance(Settings(guard.url, BLUE), _WANTED) as blue:
            blue.run_once()
            sync(guard.endpoint.provider)
            sent = len(guard.reference.history.requests("POST /records"))

            transfer = request(alice, ask())
            run_transfer(transfer.pk)
            outcome = blue.run_once().outcome

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert len(guard.reference.history.requests("POST /records")) == sent
        assert outcome is Outcome.QUIET
    assert set(DatabaseClaim.objects.values_list("owner_id", flat=True)) == {GREEN}
    assert set(TransferStep.objects.values_list("registry_profile", flat=True)) == {profile.pk}
