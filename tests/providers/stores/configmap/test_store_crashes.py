"""A worker that dies between any two requests of any write leaves every record set with a claim."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.http.errors import NothingSent, OutcomeUnknown
from providers.registries.stored_claim import StoredClaimChange
from tests.depth import examples
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    WriteCounter,
    adopt,
    adopt_bulky,
    make_bulky,
    make_map,
    make_owned,
    make_row,
    make_store,
    make_text,
    move,
    owners_of,
    read_rows,
    release,
)
from tests.reference_server import make_record

pytestmark = pytest.mark.deep

RED = "red-cluster"
Changes = Sequence[StoredClaimChange]


def write_and_die(api: KubernetesApi, counter: WriteCounter, changes: Changes, number: int) -> bool:
    """Whether the worker died at all: it did not if the write takes fewer requests."""
    counter.break_at(number)
    try:
        make_store(api).write(changes)
    except (NothingSent, OutcomeUnknown):
        return True
    finally:
        counter.stop()
    return False


def write_and_note(
    died: list[bool], api: KubernetesApi, counter: WriteCounter, changes: Changes, number: int
) -> None:
    died.append(write_and_die(api, counter, changes, number))


def prepare_small(api: KubernetesApi) -> Changes:
    api.put_object("configmaps", make_owned(BLUE, "a.example.org", "b.example.org", "c.example.org"))
    api.put_object("configmaps", make_owned(GREEN, "x.example.org", "y.example.org"))
    return [
        move("a.example.org", BLUE, GREEN),
        move("x.example.org", GREEN, BLUE),
        move("b.example.org", BLUE, RED),
        adopt("new.example.org", GREEN),
        release("y.example.org", GREEN),
    ]


def prepare_cut(api: KubernetesApi) -> Changes:
    make_store(api).write(adopt_bulky(BLUE, 14))
    bulky = make_bulky(30)
    moving = [
        StoredClaimChange(record, make_text(BLUE, label), make_text(GREEN, label))
        for record, label in bulky[:3]
    ]
    return [*moving, *adopt_bulky(BLUE, 30)[14:]]


def prepare_second_cut(api: KubernetesApi) -> Changes:
    """The shard that is cut is not the first one."""
    make_store(api).write(adopt_bulky(BLUE, 30))
    return [
        StoredClaimChange(make_record(f"n0015-{number:02d}.example.org"), None, make_text(BLUE, "y" * 50_000))
        for number in range(10)
    ]


def prepare_old_map(api: KubernetesApi) -> Changes:
    """A map of the proposal's instance that is larger than a shard of ours."""
    rows = [
        {**make_row(f"n{number:03d}.example.org", BLUE), "labels": {"resource": "x" * 49_000}}
        for number in range(20)
    ]
    api.put_object("configmaps", make_map(f"{BLUE}-storage", rows))
    return [adopt("zz.example.org", BLUE)]


@pytest.mark.parametrize("prepare", [prepare_small, prepare_cut, prepare_second_cut, prepare_old_map])
def test_at_no_crash_point_is_a_claim_lost_and_a_second_write_completes(
    prepare: Callable[[KubernetesApi], Changes],
) -> None:
    number = 0
    died = True
    while died:
        number += 1
        with KubernetesApi() as api:
            changes = prepare(api)
            before = owners_of(make_store(api))
            counter = WriteCounter(api)

            died = write_and_die(api, counter, changes, number)
            at_crash = owners_of(make_store(api))
            make_store(api).write(changes)

            released = {change.record.dns_name for change in changes if change.new is None}
            assert before.keys() - released <= at_crash.keys()
            wanted = {name: set(owners) for name, owners in before.items()}
            for change in changes:
                wanted[change.record.dns_name] = {_owner_in(change.new)} if change.new else set()
            assert owners_of(make_store(api)) == {name: each for name, each in wanted.items() if each}
    assert number > 3


@pytest.mark.parametrize("prepare", [prepare_cut, prepare_second_cut, prepare_old_map])
def test_a_cut_that_was_left_off_is_finished_by_whoever_writes_next(
    prepare: Callable[[KubernetesApi], Changes],
) -> None:
    number = 0
    died = True
    while died:
        number += 1
        with KubernetesApi() as api:
            changes = prepare(api)
            before = owners_of(make_store(api))
            counter = WriteCounter(api)

            died = write_and_die(api, counter, changes, number)
            make_store(api).write([adopt("n0015-00-other.example.org", BLUE)])

            claimed = owners_of(make_store(api))
            assert before.keys() < claimed.keys()
            assert claimed["n0015-00-other.example.org"] == {BLUE}


@pytest.mark.parametrize("others", [range(0, 40, 3), [16]])
@pytest.mark.parametrize("prepare", [prepare_small, prepare_cut, prepare_second_cut, prepare_old_map])
def test_a_writer_in_between_any_two_requests_loses_nothing_and_nothing_of_it_is_lost(
    prepare: Callable[[KubernetesApi], Changes], others: Sequence[int]
) -> None:
    number = 0
    acted = True
    while acted:
        number += 1
        with KubernetesApi() as api:
            changes = prepare(api)
            counter = WriteCounter(api)
            other = [adopt(f"n00{each:02d}-other.example.org", BLUE) for each in others]
            counter.let_act_at(number, partial(make_store(api).write, other))

            make_store(api).write(changes)

            acted = counter.seen >= number
            claimed = owners_of(make_store(api))
            for change in changes:
                assert claimed.get(change.record.dns_name) == (
                    {_owner_in(change.new)} if change.new else None
                )
            if acted:
                assert all(claimed[change.record.dns_name] == {BLUE} for change in other)
    assert number > 3


@pytest.mark.parametrize("others", [range(0, 40, 3), [16]])
@pytest.mark.parametrize("prepare", [prepare_cut, prepare_second_cut, prepare_old_map])
def test_a_writer_that_read_before_a_cut_that_then_was_left_off_loses_nothing(
    prepare: Callable[[KubernetesApi], Changes], others: Sequence[int]
) -> None:
    number = 0
    died = [True]
    while died[-1]:
        number += 1
        with KubernetesApi() as api:
            changes = prepare(api)
            before = owners_of(make_store(api))
            counter = WriteCounter(api)
            other = [adopt(f"n00{each:02d}-other.example.org", BLUE) for each in others]

            counter.let_act_at(1, partial(write_and_note, died, api, counter, changes, number))

            make_store(api).write(other)

            claimed = owners_of(make_store(api))
            assert before.keys() <= claimed.keys()
            assert all(claimed[change.record.dns_name] == {BLUE} for change in other)
    assert number > 3


def test_an_old_reader_sees_every_row_at_every_moment_while_one_map_holds_them() -> None:
    for number in range(1, 6):
        with KubernetesApi() as api:
            changes = prepare_small(api)
            counter = WriteCounter(api)

            write_and_die(api, counter, changes, number)

            blue = {str(row["dnsname"]) for row in read_rows(api, f"{BLUE}-storage")}
            green = {str(row["dnsname"]) for row in read_rows(api, f"{GREEN}-storage")}
            assert {"a.example.org", "b.example.org", "c.example.org"} <= blue
            assert {"x.example.org", "y.example.org"} <= green


NAMES = [f"{letter}.example.org" for letter in "abcdef"]
OWNERS = st.sampled_from([BLUE, GREEN, RED])


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    owned=st.dictionaries(st.sampled_from(NAMES), OWNERS),
    wanted=st.dictionaries(st.sampled_from(NAMES), st.none() | OWNERS),
    number=st.integers(1, 7),
)
def test_whatever_is_asked_and_wherever_it_stops_it_is_completed(
    owned: dict[str, str], wanted: dict[str, str | None], number: int
) -> None:
    changes = [
        StoredClaimChange(
            make_record(name),
            make_text(owned[name]) if name in owned else None,
            make_text(owner) if owner else None,
        )
        for name, owner in wanted.items()
        if owner or name in owned
    ]
    with KubernetesApi() as api:
        make_store(api).write([adopt(name, owner) for name, owner in owned.items()])
        counter = WriteCounter(api)

        write_and_die(api, counter, changes, number)
        at_crash = owners_of(make_store(api))
        make_store(api).write(changes)

        assert {name for name in owned if wanted.get(name, "") is not None} <= at_crash.keys()
        expected = {**owned, **wanted}
        assert owners_of(make_store(api)) == {name: {owner} for name, owner in expected.items() if owner}


def _owner_in(text: str | None) -> str:
    return (text or "").partition("owner=")[2].partition(",")[0]
