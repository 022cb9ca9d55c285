"""The memory backend, as strict or as sloppy as the services people run."""

import threading

import pytest

from providers.backends.errors import ChangeImpossible, ChangeRefused
from providers.backends.memory import ApplyMode, MemoryBackend
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from tests.reference_server import make_record

ONE = make_record("one.example.org")
TWO = make_record("two.example.org")
NEW_ONE = make_record("one.example.org", targets=("192.0.2.11",))
NEW_TWO = make_record("two.example.org", targets=("192.0.2.12",))
STALE_TWO = make_record("two.example.org", targets=("192.0.2.99",))


def test_it_keeps_endpoints_exactly_as_they_were_given() -> None:
    odd = make_record("WWW.Example.org.", "txt", ("no quotes", '"quotes"'))
    backend = MemoryBackend([odd])

    backend.apply(ChangeSet(create=(TWO,)))

    assert list(backend.records()) == [odd, TWO]


def test_atomic_applies_nothing_if_one_change_is_wrong() -> None:
    backend = MemoryBackend([ONE, TWO])

    with pytest.raises(ChangeRefused, match="0 of 2 changes were applied"):
        backend.apply(ChangeSet(update_old=(ONE, STALE_TWO), update_new=(NEW_ONE, NEW_TWO)))

    assert list(backend.records()) == [ONE, TWO]


def test_sequential_keeps_what_came_before_the_wrong_change() -> None:
    backend = MemoryBackend([ONE, TWO], mode=ApplyMode.SEQUENTIAL)
    late = make_record("late.example.org")

    with pytest.raises(ChangeRefused, match="1 of 3 changes were applied"):
        backend.apply(ChangeSet(create=(late,), update_old=(ONE, STALE_TWO), update_new=(NEW_ONE, NEW_TWO)))

    assert list(backend.records()) == [NEW_ONE, TWO]


def test_skip_unmatched_leaves_out_what_fits_nothing_and_succeeds() -> None:
    backend = MemoryBackend([ONE, TWO], mode=ApplyMode.SKIP_UNMATCHED)
    missing = make_record("missing.example.org")

    backend.apply(ChangeSet(update_old=(ONE, STALE_TWO), update_new=(NEW_ONE, NEW_TWO), delete=(missing,)))

    assert list(backend.records()) == [NEW_ONE, TWO]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_no_mode_creates_over_something_that_exists(mode: ApplyMode) -> None:
    backend = MemoryBackend([ONE], mode=mode)

    with pytest.raises(ChangeRefused, match=r"A one\.example\.org already exists"):
        backend.apply(ChangeSet(create=(make_record("ONE.example.org."),)))

    assert list(backend.records()) == [ONE]


@pytest.mark.parametrize(
    "change_set",
    [
        ChangeSet(update_old=(STALE_TWO,), update_new=(NEW_TWO,)),
        ChangeSet(delete=(STALE_TWO,)),
        ChangeSet(delete=(make_record("two.example.org", ttl=299),)),
    ],
    ids=["update", "delete", "other ttl"],
)
def test_value_exact_refuses_an_old_value_that_is_not_held(change_set: ChangeSet) -> None:
    backend = MemoryBackend([TWO])

    with pytest.raises(ChangeRefused, match="does not have the value the request calls old"):
        backend.apply(change_set)

    assert list(backend.records()) == [TWO]


def test_without_value_exact_any_old_value_will_do() -> None:
    backend = MemoryBackend([TWO], value_exact=False)

    backend.apply(ChangeSet(update_old=(STALE_TWO,), update_new=(NEW_TWO,)))

    assert list(backend.records()) == [NEW_TWO]


@pytest.mark.parametrize("mode", [ApplyMode.ATOMIC, ApplyMode.SEQUENTIAL])
def test_changing_what_does_not_exist_is_refused(mode: ApplyMode) -> None:
    backend = MemoryBackend([ONE], mode=mode)

    with pytest.raises(ChangeRefused, match="does not exist"):
        backend.apply(ChangeSet(delete=(TWO,)))

    assert list(backend.records()) == [ONE]


def test_set_identifiers_tell_record_sets_apart() -> None:
    europe = make_record(set_identifier="eu")
    asia = make_record(set_identifier="asia")
    backend = MemoryBackend([europe])

    backend.apply(ChangeSet(create=(asia,)))
    backend.apply(ChangeSet(delete=(europe,)))

    assert list(backend.records()) == [asia]


def test_it_refuses_a_name_outside_its_domains() -> None:
    backend = MemoryBackend(domain_filter=DomainFilter(include=("example.org",)))

    with pytest.raises(ChangeImpossible, match="outside the domains"):
        backend.apply(ChangeSet(create=(make_record("www.example.com"),)))

    assert list(backend.records()) == []


def test_it_refuses_to_begin_with_the_same_identity_twice() -> None:
    with pytest.raises(ChangeRefused, match="is twice in"):
        MemoryBackend([ONE, make_record("ONE.example.org")])


def test_a_slow_provider_shows_a_change_only_after_so_many_reads() -> None:
    backend = MemoryBackend([ONE], reads_until_visible=2)

    backend.apply(ChangeSet(update_old=(ONE,), update_new=(NEW_ONE,)))

    assert backend.contents() == [NEW_ONE]
    assert [list(backend.records()) for _ in range(4)] == [[ONE], [ONE], [NEW_ONE], [NEW_ONE]]


def test_a_slow_provider_checks_old_values_against_the_truth_not_against_what_it_shows() -> None:
    backend = MemoryBackend([ONE], reads_until_visible=2)
    backend.apply(ChangeSet(update_old=(ONE,), update_new=(NEW_ONE,)))

    with pytest.raises(ChangeRefused):
        backend.apply(ChangeSet(delete=(ONE,)))
    backend.apply(ChangeSet(delete=(NEW_ONE,)))

    assert [list(backend.records()) for _ in range(3)] == [[ONE], [ONE], []]


def test_of_many_threads_that_create_one_name_only_one_wins() -> None:
    backend = MemoryBackend()
    outcomes: list[bool] = []
    start = threading.Barrier(8)

    def create(number: int) -> None:
        start.wait()
        try:
            backend.apply(ChangeSet(create=(make_record(targets=(f"192.0.2.{number}",)),)))
            outcomes.append(True)
        except ChangeRefused:
            outcomes.append(False)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == [False] * 7 + [True]
    assert len(backend.records()) == 1
