"""The proposal's resync, and a registry that outlives its cluster."""

from datetime import UTC, datetime

import msgspec
import pytest

from providers.http.errors import NothingSent, OutcomeUnknown
from providers.registries.configmap.export import parse_export
from providers.registries.configmap.resync import Comparison, DifferenceKind
from providers.registries.export import Export
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import NoRegistry
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    WriteCounter,
    adopt,
    adopt_bulky,
    make_map,
    make_owned,
    make_row,
    make_store,
    make_text,
    owners_of,
    read_rows,
    writes_to,
)
from tests.reference_server import make_record

BLUE_MAP = f"{BLUE}-storage"
WHEN = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def test_a_rebuilt_registry_holds_what_the_provider_shows() -> None:
    rows = [
        {**make_row("own.example.org", BLUE), "labels": {"resource": "a/b"}},
        make_row("gone.example.org", BLUE),
        make_row("green.example.org", GREEN),
        make_row("left.example.org", GREEN),
        make_row("free.example.org", ""),
    ]
    shown = [
        make_record("own.example.org", "A", ["192.0.2.9", "192.0.2.8"]),
        make_record("green.example.org", "A", ["192.0.2.7"]),
        make_record("free.example.org"),
        make_record("new.example.org"),
    ]
    with KubernetesApi() as api:
        api.put_object("configmaps", make_map(BLUE_MAP, rows))

        comparison = make_store(api).compare(BLUE, shown, owners={})
        make_store(api).rebuild(BLUE, shown, owners={})

        assert [(each.kind, each.key.name) for each in comparison.differences] == [
            (DifferenceKind.OTHER_TARGETS, "own.example.org"),
            (DifferenceKind.ROW_WITHOUT_RECORD, "gone.example.org"),
            (DifferenceKind.OTHER_TARGETS, "green.example.org"),
            (DifferenceKind.ROW_WITHOUT_RECORD, "left.example.org"),
            (DifferenceKind.RECORD_WITHOUT_ROW, "new.example.org"),
        ]
        assert read_rows(api, BLUE_MAP) == [
            make_row("free.example.org", ""),
            make_row("gone.example.org", BLUE),
            make_row("green.example.org", GREEN, "192.0.2.7"),
            make_row("new.example.org", ""),
            {
                **make_row("own.example.org", BLUE, "192.0.2.9"),
                "targets": ["192.0.2.9", "192.0.2.8"],
                "labels": {"resource": "a/b"},
            },
        ]


def test_a_second_rebuild_finds_nothing_and_sends_nothing() -> None:
    shown = [make_record(f"n{number}.example.org") for number in range(5)]
    with KubernetesApi() as api:
        store = make_store(api)
        store.rebuild(BLUE, shown, owners={})
        writes = len(writes_to(api))

        store.rebuild(BLUE, shown, owners={})

        assert store.compare(BLUE, shown, owners={}) == Comparison()
        assert len(writes_to(api)) == writes == 1


def test_own_rows_without_a_record_set_stay() -> None:
    record = make_record("coming.example.org")
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "gone.example.org"))
        store = make_store(api)
        store.write([StoredClaimChange(record, None, make_text(BLUE), is_intent=True)])

        store.rebuild(BLUE, [], owners={})

        assert owners_of(store) == {"gone.example.org": {BLUE}, "coming.example.org": {BLUE}}


def test_an_intent_that_came_true_becomes_a_row_and_one_of_other_targets_waits() -> None:
    names = ("true.example.org", "waits.example.org")
    with KubernetesApi() as api:
        store = make_store(api)
        store.write(
            [
                StoredClaimChange(make_record(name), None, make_text(BLUE, "a/b"), is_intent=True)
                for name in names
            ]
        )

        store.rebuild(BLUE, [make_record(names[0]), make_record(names[1], "A", ["192.0.2.9"])], owners={})

        assert [(row["dnsname"], row["owner"]) for row in read_rows(api, BLUE_MAP)] == [
            ("true.example.org", BLUE),
            ("waits.example.org", ""),
        ]
        assert [claim.meant_targets for claim in store.fetch_claims()] == [None, ("192.0.2.1",)]


def test_others_are_named_as_their_own_maps_name_them() -> None:
    shown = [make_record("green.example.org"), make_record("moved.example.org")]
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(GREEN, "green.example.org", "moved.example.org"))
        api.put_object("configmaps", make_map(BLUE_MAP, [make_row("moved.example.org", "red-cluster")]))

        make_store(api).rebuild(BLUE, shown, owners={})

        assert [row["owner"] for row in read_rows(api, BLUE_MAP)] == [GREEN, GREEN]


def test_what_cannot_be_believed_is_left_as_it_stands() -> None:
    odd: list[dict[str, object]] = [
        *[make_row("twice.example.org", BLUE)] * 2,
        {**make_row("odd.example.org", "x"), "owner": 5},
        {"dnsname": 5},
    ]
    with KubernetesApi() as api:
        api.put_object("configmaps", make_map(BLUE_MAP, odd))

        make_store(api).rebuild(BLUE, [make_record("twice.example.org")], owners={})
        comparison = make_store(api).compare(BLUE, [make_record("twice.example.org")], owners={})

        assert writes_to(api) == []
        assert {each.kind for each in comparison.differences} == {DifferenceKind.UNBELIEVABLE_ROW}
        assert len(comparison.differences) == 2


def test_a_rebuild_that_met_another_writer_is_made_anew() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        other = make_owned(BLUE, "www.example.org", "theirs.example.org")
        api.faults.plan(
            "update /configmaps", faults.meanwhile(lambda: (api.put_object("configmaps", other), None)[1])
        )

        make_store(api).rebuild(
            BLUE, [make_record("www.example.org"), make_record("new.example.org")], owners={}
        )

        assert owners_of(make_store(api)).keys() == {"www.example.org", "theirs.example.org"}
        assert len(read_rows(api, BLUE_MAP)) == 3


@pytest.mark.deep
def test_an_export_brings_the_registry_back_in_another_cluster() -> None:
    changes = [*adopt_bulky(BLUE, 30), adopt("www.example.org", BLUE, "a/b")]
    intent = StoredClaimChange(make_record("soon.example.org"), None, make_text(BLUE), is_intent=True)
    with KubernetesApi() as api, KubernetesApi() as other:
        make_store(api).write([*changes, intent])
        make_store(api).rebuild(
            BLUE, [*(each.record for each in changes), make_record("free.example.org")], owners={}
        )

        document = make_store(api).export(BLUE, when=WHEN)
        make_store(other).restore(parse_export(document, max_items=1_000))

        assert make_store(other).fetch_claims() == make_store(api).fetch_claims()
        assert make_store(other).export(BLUE, when=WHEN) == document


def restore_and_die(api: KubernetesApi, export: Export) -> bool:
    """Whether the worker died at all: it did not if the restore takes fewer requests."""
    try:
        make_store(api).restore(export)
    except (NothingSent, OutcomeUnknown):
        return True
    return False


@pytest.mark.deep
def test_a_restore_cut_short_anywhere_is_completed_by_asking_again() -> None:
    with KubernetesApi() as api:
        make_store(api).write(adopt_bulky(BLUE, 30))
        export = parse_export(make_store(api).export(BLUE, when=WHEN), max_items=1_000)
        claims = make_store(api).fetch_claims()
    number, died = 0, True
    while died:
        number += 1
        with KubernetesApi() as other:
            counter = WriteCounter(other)
            counter.break_at(number)

            died = restore_and_die(other, export)
            counter.stop()
            make_store(other).restore(export)

            assert make_store(other).fetch_claims() == claims
    assert number > 4


def test_rows_of_nobody_give_way_to_an_export_and_all_others_do_not() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org", "api.example.org"))
        export = parse_export(make_store(api).export(BLUE, when=WHEN), max_items=1_000)
    with KubernetesApi() as began_anew, KubernetesApi() as taken, KubernetesApi() as changed:
        unmanaged = [make_row("www.example.org", ""), make_row("new.example.org", "")]
        began_anew.put_object("configmaps", make_map(BLUE_MAP, unmanaged))
        taken.put_object("configmaps", make_owned(GREEN, "api.example.org"))
        changed.put_object("configmaps", make_map(BLUE_MAP, [make_row("api.example.org", BLUE, "192.0.2.9")]))

        make_store(began_anew).restore(export)
        with pytest.raises(NothingSent, match=f"api.example.org A is claimed by {GREEN}"):
            make_store(taken).restore(export)
        with pytest.raises(NothingSent, match=r"api\.example\.org A has a row here"):
            make_store(changed).restore(export)

        assert [(row["dnsname"], row["owner"]) for row in read_rows(began_anew, BLUE_MAP)] == [
            ("api.example.org", BLUE),
            ("new.example.org", ""),
            ("www.example.org", BLUE),
        ]
        assert writes_to(taken) == writes_to(changed) == []


def test_an_owner_without_registry_has_nothing_to_export() -> None:
    with KubernetesApi() as api, pytest.raises(NoRegistry, match=BLUE):
        make_store(api).export(BLUE, when=WHEN)


def test_a_rebuild_names_an_owner_no_map_can_be_named_after() -> None:
    with KubernetesApi() as api, pytest.raises(NothingSent, match="'Blue'"):
        make_store(api).rebuild("Blue", [msgspec.structs.replace(make_record())], owners={})
