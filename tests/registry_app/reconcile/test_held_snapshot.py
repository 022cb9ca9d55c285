"""A suspicious snapshot: held, shown, and released in one of three ways."""

from functools import partial

import msgspec
import pytest
from django.db import connection

from providers.wire.domain_filter import DomainFilter
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed, StateMoved
from registry_app.models import AuditEntry, Finding, HeldSnapshot, Provider, RecordSet, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot
from tests.factories import make_owner, make_provider
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.reconcile.serving import serve
from tests.registry_app.reconcile.syncing import mirrored, sync

pytestmark = pytest.mark.django_db


def _hold(count: int = 20, left: int = 5) -> tuple[Provider, HeldSnapshot]:
    """A provider that lost most of its zone, and what was held of it."""
    provider, zone = make_provider(), make_zone(count=count)
    serve(provider, zone)
    serve(provider, zone[: 2 * left])
    return provider, HeldSnapshot.objects.get()


def test_it_tells_why_and_what_would_change() -> None:
    provider, held = _hold()

    finding = Finding.objects.get(kind=Finding.Kind.SNAPSHOT_HELD)

    assert [reason["code"] for reason in held.reasons] == ["shrunk"]
    assert (held.difference["known"], held.difference["vanished"]) == (20, 15)
    assert len(held.difference["samples"]["vanished"]) == 15
    assert (finding.state, finding.provider) == (Finding.State.OPEN, provider)
    assert len(mirrored(provider)) == 20


def test_a_provider_with_a_lower_limit_holds_a_smaller_loss() -> None:
    provider, zone = make_provider(hold_missing_percent=10), make_zone(count=20)
    serve(provider, zone)

    run = serve(provider, zone[: 2 * 17])

    assert run.status == SyncRun.Status.HELD
    assert [reason["code"] for reason in HeldSnapshot.objects.get().reasons] == ["shrunk"]


def test_a_limit_that_was_raised_lets_the_same_response_in() -> None:
    provider, _held = _hold(left=10)

    Provider.objects.update(hold_missing_percent=60)
    provider.refresh_from_db()
    run = serve(provider, make_zone(count=20)[:20])

    assert run.status == SyncRun.Status.STORED
    assert RecordSet.objects.filter(provider=provider, missing_since__isnull=True).count() == 10


def test_the_same_answer_again_is_one_row_seen_twice() -> None:
    provider, held = _hold()

    run = serve(provider, make_zone(count=20)[:10])

    held.refresh_from_db()
    assert run.status == SyncRun.Status.HELD
    assert (held.status, held.occurrences) == (HeldSnapshot.Status.OPEN, 2)
    assert HeldSnapshot.objects.count() == 1


def test_another_suspicious_answer_takes_its_place() -> None:
    provider, held = _hold()

    serve(provider, make_zone(count=20)[:4])

    held.refresh_from_db()
    assert (held.occurrences, held.difference["vanished"]) == (2, 18)
    assert HeldSnapshot.objects.count() == 1


def test_nobody_accepts_what_took_the_place_of_what_they_saw() -> None:
    provider, held = _hold()
    seen = held.body_digest
    serve(provider, make_zone(count=20)[:4])

    with pytest.raises(StateMoved):
        accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.", seen=seen)

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.OPEN


def test_a_normal_answer_clears_it() -> None:
    provider, held = _hold()

    run = serve(provider, make_zone(count=20))

    held.refresh_from_db()
    assert (run.status, held.status) == (SyncRun.Status.UNCHANGED, HeldSnapshot.Status.CLEARED)
    assert provider.status == Provider.Status.OK
    assert Finding.objects.get(kind=Finding.Kind.SNAPSHOT_HELD).state == Finding.State.RESOLVED


def test_an_accepted_one_is_stored_by_the_next_sync() -> None:
    provider, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")

    run = serve(provider, make_zone(count=20)[:10])

    held.refresh_from_db()
    assert (run.status, run.vanished) == (SyncRun.Status.STORED, 15)
    assert held.status == HeldSnapshot.Status.STORED
    assert RecordSet.objects.filter(missing_since__isnull=True).count() == 5
    assert Finding.objects.get(kind=Finding.Kind.SNAPSHOT_HELD).state == Finding.State.RESOLVED


def test_beside_an_accepted_one_a_normal_change_is_stored() -> None:
    provider, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")

    run = serve(provider, [*make_zone(count=20)[:10], make_record("new.example.org")])

    assert run.status == SyncRun.Status.STORED


def test_beside_an_accepted_one_another_loss_is_held_again() -> None:
    provider, held = _hold(count=40, left=20)
    accept_held_snapshot(SYSTEM, held.pk, reason="Half of it moved out.")

    run = serve(provider, make_zone(count=40)[:10])

    held.refresh_from_db()
    assert (run.status, held.status) == (SyncRun.Status.HELD, HeldSnapshot.Status.OPEN)
    assert len(mirrored(provider)) == 40


def test_accepting_while_a_sync_looks_is_not_undone_by_it() -> None:
    provider, zone = make_provider(), make_zone(count=20)
    serve(provider, zone)
    serve(provider, zone[:10])
    held = HeldSnapshot.objects.get()

    with connection.execute_wrapper(AfterReading("heldsnapshot", partial(_accept, held))):
        run = serve(provider, zone[:8])

    held.refresh_from_db()
    assert run.status == SyncRun.Status.HELD
    assert held.status == HeldSnapshot.Status.ACCEPTED


def test_a_rejected_one_is_not_put_before_a_person_again() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")

    run = serve(provider, make_zone(count=20)[:10])

    assert run.status == SyncRun.Status.HELD
    assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.REJECTED
    assert len(mirrored(provider)) == 20


def test_a_rejected_one_is_not_put_before_a_person_again_though_it_is_read_anew() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")
    make_owner("green-cluster")

    serve(provider, make_zone(count=20)[:10])

    assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.REJECTED


def test_something_else_after_a_rejection_is_held_anew() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")

    serve(provider, make_zone(count=20)[:4])

    assert list(HeldSnapshot.objects.order_by("pk").values_list("status", flat=True)) == ["rejected", "open"]


def test_a_failure_in_between_forgets_nothing_of_it() -> None:
    provider, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")
    Provider.objects.filter(pk=provider.pk).update(url="http://127.0.0.1:1", deadline_seconds=1)
    failed = sync(provider)

    run = serve(provider, make_zone(count=20)[:10])

    held.refresh_from_db()
    assert failed.status == SyncRun.Status.FAILED
    assert (run.status, held.status) == (SyncRun.Status.STORED, HeldSnapshot.Status.STORED)
    assert Finding.objects.get(kind=Finding.Kind.SNAPSHOT_HELD).state == Finding.State.RESOLVED


def test_a_normal_answer_after_a_rejection_resolves_the_finding() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")
    Provider.objects.filter(pk=provider.pk).update(url="http://127.0.0.1:1", deadline_seconds=1)
    sync(provider)

    serve(provider, make_zone(count=20))

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.REJECTED
    assert Finding.objects.get(kind=Finding.Kind.SNAPSHOT_HELD).state == Finding.State.RESOLVED


def test_allowing_an_empty_answer_releases_it() -> None:
    provider = make_provider()
    serve(provider, make_zone(count=3))
    serve(provider, [])
    Provider.objects.filter(pk=provider.pk).update(allow_empty=True)

    run = serve(provider, [])

    assert (run.status, run.vanished) == (SyncRun.Status.STORED, 3)
    assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.CLEARED


def test_a_decision_is_made_once() -> None:
    _, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")

    with pytest.raises(StateMoved):
        reject_held_snapshot(SYSTEM, held.pk, reason="No.")

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.ACCEPTED


def test_nobody_without_the_right_decides() -> None:
    _, held = _hold()
    dora = Actor(kind="user", name="dora", user_id=1)

    with pytest.raises(NotAllowed):
        accept_held_snapshot(dora, held.pk, reason="Looks fine.")

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.OPEN


def test_each_step_of_it_is_one_audit_line() -> None:
    provider, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")
    serve(provider, make_zone(count=20)[:10])

    actions = AuditEntry.objects.filter(object_type="heldsnapshot").order_by("sequence")

    assert [entry.action for entry in actions] == [
        "held_snapshot.opened",
        "held_snapshot.accepted",
        "held_snapshot.stored",
    ]


def test_a_changed_domain_filter_is_held_and_stored_once_accepted() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    serve(provider, zone, domain_filter=DomainFilter(include=("example.org",)))
    Provider.objects.filter(pk=provider.pk).update(domain_filter=_long_ago(provider))

    held_run = serve(provider, zone, domain_filter=DomainFilter(include=("example.org", "example.net")))
    held = HeldSnapshot.objects.get()
    accept_held_snapshot(SYSTEM, held.pk, reason="A zone was added.")
    run = serve(provider, zone, domain_filter=DomainFilter(include=("example.org", "example.net")))

    assert held_run.status == SyncRun.Status.HELD
    assert [reason["code"] for reason in held.reasons] == ["domain_filter_changed"]
    assert run.status == SyncRun.Status.UNCHANGED
    assert provider.domain_filter["include"] == ["example.org", "example.net"]
    assert provider.status == Provider.Status.OK


def test_beside_an_accepted_domain_filter_a_third_one_is_held_again() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    for name in ("example.org", "example.net"):
        serve(provider, zone, domain_filter=DomainFilter(include=(name,)))
        Provider.objects.filter(pk=provider.pk).update(domain_filter=_long_ago(provider))
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="The zone moves.")

    run = serve(provider, zone, domain_filter=DomainFilter(include=("example.com",)))

    assert run.status == SyncRun.Status.HELD
    assert provider.domain_filter["include"] == ["example.org"]


def test_a_domain_filter_that_changes_back_clears_it() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    serve(provider, zone, domain_filter=DomainFilter(include=("example.org",)))
    Provider.objects.filter(pk=provider.pk).update(domain_filter=_long_ago(provider))
    serve(provider, zone, domain_filter=DomainFilter(include=("example.net",)))

    serve(provider, zone, domain_filter=DomainFilter(include=("example.org",)))

    assert provider.status == Provider.Status.OK
    assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.CLEARED


def test_owners_changed_by_somebody_else_are_held() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    stolen = [
        make_claim(endpoint.dns_name, endpoint.record_type, "green-cluster")
        if endpoint.record_type != "TXT"
        else None
        for endpoint in zone
    ]
    changed = [claim or zone[index] for index, claim in enumerate(stolen[-1:] + stolen[:-1])]

    run = serve(provider, changed)

    assert run.status == SyncRun.Status.HELD
    assert {row[5] for row in mirrored(provider)} == {"blue-cluster"}


def test_a_first_answer_is_never_too_little() -> None:
    provider = make_provider()

    run = serve(provider, [])

    assert run.status == SyncRun.Status.UNCHANGED
    assert provider.status == Provider.Status.OK


def _long_ago(provider: Provider) -> dict[str, object]:
    """Its filter as it is, negotiated so long ago that the next sync negotiates again."""
    return {
        **msgspec.convert(provider.domain_filter, dict[str, object]),
        "negotiated_at": "2020-01-01T00:00:00+00:00",
    }


def _accept(held: HeldSnapshot) -> None:
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")
