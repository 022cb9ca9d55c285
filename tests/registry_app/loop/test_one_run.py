"""One iteration of the loop against a provider that does as it is told."""

import pytest

from registry_app.models import AuditEntry, LoopRun, Provider, RecordSet
from tests.registry_app.loop.world import (
    API,
    BYSTANDERS,
    OLD,
    PARKED,
    WWW,
    names_changed,
    open_parking,
    outcomes,
    owned,
    run,
    wanted,
)

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status


def test_it_creates_updates_and_deletes_in_one_change_set_and_reads_it_back() -> None:
    zone = [*owned(WWW, "192.0.2.7"), *owned(OLD)]
    with open_parking(zone) as world:
        ended = run(world, [wanted(WWW, "192.0.2.8"), wanted(API)])

        assert ended.status == STATUS.VERIFIED, ended.reason
        assert (ended.created, ended.updated, ended.deleted, ended.not_as_wanted) == (1, 1, 1, 0)
        assert outcomes(ended) == {f"{name} A": "verified" for name in (API, OLD, WWW)}
        (change_set,) = world.change_sets()
        assert names_changed(change_set) == {
            (WWW, "A"),
            (API, "A"),
            (f"a-{API}", "TXT"),
            (OLD, "A"),
            (f"a-{OLD}", "TXT"),
        }
        assert set(world.zone()) == {
            *((each.dns_name, each.record_type) for each in BYSTANDERS),
            (WWW, "A"),
            (f"a-{WWW}", "TXT"),
            (API, "A"),
            (f"a-{API}", "TXT"),
        }


def test_what_stands_as_wanted_is_left_as_it_is_and_nothing_is_sent() -> None:
    with open_parking(owned(WWW)) as world:
        before = world.reference.zone_bytes()

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.UNCHANGED
        assert world.change_sets() == []
        assert world.reference.zone_bytes() == before
        assert not AuditEntry.objects.filter(action__startswith="loop_run").exists()


def test_a_run_that_sends_has_its_audit_lines_and_the_mirror_follows() -> None:
    with open_parking() as world:
        Provider.objects.update(next_sync_at=None)

        ended = run(world, [wanted(WWW)])

        entries = AuditEntry.objects.filter(object_type="looprun", object_id=str(ended.pk))
        actions = list(entries.order_by("sequence").values_list("action", "actor_name"))
        assert actions == [("loop_run.sending", "alice (shell)"), ("loop_run.verified", "alice (shell)")]
        assert Provider.objects.get().next_sync_at is not None
        world.sync()
        assert RecordSet.objects.get(name=WWW).owner.owner_id == PARKED  # type: ignore[union-attr]  # owned


def test_the_exact_bytes_are_stored_before_they_are_sent() -> None:
    with open_parking() as world:
        ended = run(world, [wanted(WWW), wanted(API)])

        (step,) = ended.steps.all()
        (request,) = world.reference.history.requests("POST /records")
        assert step.change_set.encode() == request.body


def test_many_changes_go_in_batches_of_whole_names_with_their_claims() -> None:
    desired = [wanted(f"app-{number}.example.org") for number in range(5)]
    desired += [wanted("app-0.example.org", "2001:db8::1", record_type="AAAA")]
    with open_parking(batch_size=2) as world:
        ended = run(world, desired)

        assert ended.status == STATUS.VERIFIED, ended.reason
        assert ended.created == 6
        sent = [names_changed(change_set) for change_set in world.change_sets()]
        assert [len(each) for each in sent] == [4, 4, 4]
        for each in sent:
            records = {(name, kind) for name, kind in each if kind != "TXT"}
            assert each - records == {(f"{kind.lower()}-{name}", "TXT") for name, kind in records}
