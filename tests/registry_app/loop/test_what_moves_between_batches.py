"""After each batch the next one is planned from what stands at its names then."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from pytest_django import Settings

from providers.backends.memory import MemoryBackend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.models import LoopRun
from tests.reference_server import ReferenceProvider, make_claim, make_record
from tests.registry_app.loop.world import names_changed, open_parking, outcomes, owned, run, wanted

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status
FIRST, SECOND, THIRD = (f"app-{number}.example.org" for number in range(3))
TAKEN = [make_record(SECOND, targets=["192.0.2.66"]), make_claim(SECOND, owner="blue-cluster")]


class _Crowded(MemoryBackend):
    """A zone in which somebody else does something right after our first change."""

    then: Sequence[ChangeSet] = ()

    def apply(self, change_set: ChangeSet) -> None:
        super().apply(change_set)
        others, self.then = self.then, ()
        for each in others:
            super().apply(each)


def _crowded(*then: ChangeSet) -> type[ReferenceProvider]:
    class Crowded(_Crowded):
        pass

    class CrowdedProvider(ReferenceProvider):
        backend_type = Crowded

    Crowded.then = then
    return CrowdedProvider


def test_a_name_that_somebody_took_meanwhile_is_left_alone() -> None:
    crowded = _crowded(ChangeSet(create=tuple(TAKEN)))
    with open_parking(batch_size=1, reference_type=crowded) as world:
        ended = run(world, [wanted(FIRST), wanted(SECOND), wanted(THIRD)])

        assert (ended.status, ended.created) == (STATUS.VERIFIED, 2), ended.reason
        assert {each.dns_name: each for each in TAKEN}.items() <= {
            each.dns_name: each for each in world.reference.endpoints()
        }.items()
        assert all((SECOND, "A") not in names_changed(each) for each in world.change_sets())


def test_what_somebody_gave_away_meanwhile_is_not_changed() -> None:
    claim, other = owned(SECOND)[1], make_claim(SECOND, owner="blue-cluster")
    crowded = _crowded(ChangeSet(update_old=(claim,), update_new=(other,)))
    zone = [each for name in (FIRST, SECOND, THIRD) for each in owned(name)]
    with open_parking(zone, batch_size=1, reference_type=crowded) as world:
        ended = run(world, [wanted(name, "192.0.2.9") for name in (FIRST, SECOND, THIRD)])

        assert (ended.status, ended.updated) == (STATUS.VERIFIED, 2), ended.reason
        assert world.zone()[SECOND, "A"].targets == ("192.0.2.1",)


def test_what_is_as_wanted_meanwhile_is_sent_no_more() -> None:
    new = make_record(SECOND, targets=["192.0.2.9"], ttl=300)
    crowded = _crowded(ChangeSet(update_old=(owned(SECOND)[0],), update_new=(new,)))
    zone = [each for name in (FIRST, SECOND, THIRD) for each in owned(name)]
    with open_parking(zone, batch_size=1, reference_type=crowded) as world:
        ended = run(world, [wanted(name, "192.0.2.9") for name in (FIRST, SECOND, THIRD)])

        assert (ended.status, ended.updated) == (STATUS.VERIFIED, 2), ended.reason
        assert outcomes(ended) == {f"{FIRST} A": "verified", f"{THIRD} A": "verified"}
        assert world.reference.endpoints().count(new) == 1


def test_a_run_that_takes_too_long_gives_way_after_its_first_batch_and_the_next_one_goes_on(
    settings: Settings,
) -> None:
    settings.DNSADMIN_LONGEST_RUN = timedelta(0)
    everything = [wanted(name) for name in (FIRST, SECOND, THIRD)]
    with open_parking(batch_size=1) as world:
        runs = [run(world, everything) for _ in range(3)]

        assert [ended.created for ended in runs] == [1, 1, 1]
        assert [ended.status for ended in runs] == [STATUS.INCOMPLETE, STATUS.INCOMPLETE, STATUS.VERIFIED]
        assert {(FIRST, "A"), (SECOND, "A"), (THIRD, "A")} <= world.zone().keys()


def test_a_txt_record_that_came_to_stand_where_a_claim_would_go_stops_its_record_set() -> None:
    text = make_record(f"a-{SECOND}", "TXT", ['"v=spf1 -all"'])
    crowded = _crowded(ChangeSet(create=(text,)))
    with open_parking(batch_size=1, reference_type=crowded) as world:
        ended = run(world, [wanted(FIRST), wanted(SECOND), wanted(THIRD)])

        assert ended.created == 2, ended.reason
        assert (SECOND, "A") not in world.zone()
        assert world.zone()[f"a-{SECOND}", "TXT"] == text
        assert [each["name"] for each in ended.left_alone] == [SECOND]


def test_many_names_more_than_two_batches_apart_are_all_made() -> None:
    names = [f"app-{number:02d}.example.org" for number in range(12)]
    kept: list[Endpoint] = [wanted(name) for name in names]
    with open_parking(batch_size=5) as world:
        ended = run(world, kept)
        again = run(world, kept)

        assert (ended.status, ended.created) == (STATUS.VERIFIED, 12), ended.reason
        assert [len(names_changed(each)) for each in world.change_sets()] == [10, 10, 4]
        assert again.status == STATUS.UNCHANGED


def test_all_that_changes_at_one_name_goes_together_however_small_a_batch_is_to_be() -> None:
    desired = [wanted(FIRST), wanted(FIRST, "2001:db8::1", record_type="AAAA"), wanted(SECOND)]
    with open_parking(batch_size=1) as world:
        ended = run(world, desired)

        assert (ended.status, ended.created) == (STATUS.VERIFIED, 3), ended.reason
        assert [len(names_changed(each)) for each in world.change_sets()] == [4, 2]
