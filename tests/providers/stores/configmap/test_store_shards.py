"""Registries larger than a ConfigMap may be, and maps written by an instance that knows of no shards."""

import json

import pytest

from providers.http.errors import MalformedAnswer, NothingSent
from providers.registries.configmap.writing import MAX_SHARD_BYTES
from providers.registries.kubernetes_object import read_metadata, read_texts
from providers.wire.endpoint import EndpointKey
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    adopt,
    adopt_bulky,
    echo_without_writing,
    make_map,
    make_owned,
    make_row,
    make_store,
    move,
    owners_of,
    read_data,
    read_rows,
    writes_to,
)

pytestmark = pytest.mark.deep

FIRST = f"{BLUE}-storage"


def sizes_of(api: KubernetesApi) -> list[int]:
    names = [read_metadata(each, "name") for each in api.objects("configmaps")]
    return [sum(len(value.encode()) for value in read_data(api, name).values()) for name in names]


@pytest.mark.deep
def test_twenty_thousand_rows_are_in_several_shards_and_one_change_rewrites_one() -> None:
    names = [f"app-{number:05d}.example.org" for number in range(20_000)]
    with KubernetesApi() as api:
        store = make_store(api)
        store.write([adopt(name, BLUE, "ingress/shop/app") for name in names])
        before = len(writes_to(api))

        store.write([adopt("app-12345-b.example.org", BLUE)])

        made, index, deleted = writes_to(api)[before:]
        assert (made, index, deleted[:6]) == ("POST", f"PUT {FIRST}", "DELETE")
        assert max(sizes_of(api)) <= MAX_SHARD_BYTES
        assert len(sizes_of(api)) > 2
        assert set(owners_of(store)) == {*names, "app-12345-b.example.org"}


def test_the_index_tells_a_person_where_a_name_is() -> None:
    with KubernetesApi() as api:
        make_store(api).write(adopt_bulky(BLUE, 30))

        index = json.loads(read_data(api, FIRST)["index"])

        places = [(each.get("from", [""])[0], each["map"]) for each in index["shards"]]
        assert len(places) == 4
        for (start, name), (end, _) in zip(places, [*places[1:], ("~", "")], strict=True):
            assert all(start <= str(row["dnsname"]) < end for row in read_rows(api, name))


def test_an_old_map_is_read_as_it_is_and_keeps_its_shape_when_it_is_written() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org", "api.example.org"))
        store = make_store(api)

        claims = {claim.key.name for claim in store.fetch_claims()}
        store.write([adopt("new.example.org", BLUE)])

        assert claims == {"www.example.org", "api.example.org"}
        assert [row["dnsname"] for row in read_rows(api, FIRST)] == [
            "api.example.org",
            "new.example.org",
            "www.example.org",
        ]
        assert json.loads(read_data(api, FIRST)["index"])["shards"] == [{"map": FIRST}]


def test_an_old_map_full_to_its_last_byte_is_written_because_white_space_goes() -> None:
    rows = [make_row(f"n{number:05d}.example.org", BLUE) for number in range(6_000)]
    full = make_map(FIRST, rows)
    text = read_texts(full, "data")["records"]
    full["data"] = {"records": text + " " * (1024 * 1024 - len(text))}
    with KubernetesApi() as api:
        api.put_object("configmaps", full)
        store = make_store(api)

        store.write([adopt("www.example.org", BLUE)])

        assert len(owners_of(store)) == 6_001


def test_another_tool_s_map_where_a_shard_would_stand_is_left_alone() -> None:
    with KubernetesApi() as api:
        foreign = api.put_object("configmaps", {"metadata": {"name": f"{FIRST}-1"}, "data": {"theirs": "x"}})

        make_store(api).write(adopt_bulky(BLUE, 20))

        assert api.read_object("configmaps", f"{FIRST}-1") == foreign
        assert len(owners_of(make_store(api))) == 20


def test_another_tool_s_map_where_an_owner_s_map_would_stand_is_left_alone() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", {"metadata": {"name": FIRST}, "data": {"theirs": "x"}})

        with pytest.raises(NothingSent, match="is no registry"):
            make_store(api).write([adopt("www.example.org", BLUE)])

        assert writes_to(api) == []


def test_an_empty_map_made_ready_by_hand_is_used() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", {"metadata": {"name": FIRST}})

        make_store(api).write([adopt("www.example.org", BLUE)])

        assert writes_to(api) == [f"PUT {FIRST}"]


def test_rows_go_elsewhere_where_other_data_fills_a_map() -> None:
    with KubernetesApi() as api:
        rows = [make_row("www.example.org", BLUE)]
        api.put_object("configmaps", make_map(FIRST, rows, theirs="x" * 1_000_000))

        make_store(api).write([adopt("new.example.org", BLUE)])

        assert len(read_data(api, FIRST)["theirs"]) == 1_000_000
        assert read_rows(api, FIRST) == []
        assert set(owners_of(make_store(api))) == {"www.example.org", "new.example.org"}


def test_a_map_with_no_room_for_an_index_is_told_to_be_full() -> None:
    with KubernetesApi() as api:
        full = make_owned(BLUE, "www.example.org")
        text = read_texts(full, "data")["records"]
        full["data"] = {"records": text, "theirs": "x" * (1024 * 1024 - len(text))}
        api.put_object("configmaps", full)

        with pytest.raises(NothingSent, match="Too long"):
            make_store(api).write([adopt("new.example.org", BLUE)])

        assert set(owners_of(make_store(api))) == {"www.example.org"}


@pytest.mark.parametrize(
    "what", ["shard gone", "first gone", "index gone", "records gone", "no json", "no array"]
)
def test_a_registry_that_is_not_whole_fails_the_reading_and_is_named(what: str) -> None:
    with KubernetesApi() as api:
        make_store(api).write([*adopt_bulky(BLUE, 20), adopt("green.example.org", GREEN)])
        first, second = read_data(api, FIRST), read_data(api, f"{FIRST}-1")
        if what == "shard gone":
            api.delete_object("configmaps", f"{FIRST}-1")
        elif what == "first gone":
            api.delete_object("configmaps", FIRST)
        else:
            name, data = {
                "index gone": (FIRST, {"records": first["records"]}),
                "records gone": (FIRST, {"index": first["index"]}),
                "no json": (FIRST, {**first, "records": first["records"][:-1]}),
                "no array": (f"{FIRST}-1", {**second, "records": "{}"}),
            }[what]
            api.put_object("configmaps", {"metadata": {"name": name}, "data": dict(data)})
        writes = len(writes_to(api))

        with pytest.raises(MalformedAnswer, match=FIRST) as reading:
            make_store(api).fetch_claims()
        with pytest.raises(NothingSent, match=FIRST):
            make_store(api).write([adopt("new.example.org", GREEN)])

        assert "kubectl" in reading.value.hint
        assert len(writes_to(api)) == writes


def test_a_single_map_that_lost_its_rows_and_not_its_index_fails_the_reading() -> None:
    with KubernetesApi() as api:
        make_store(api).write([adopt("www.example.org", BLUE), adopt("green.example.org", GREEN)])
        index = read_data(api, FIRST)["index"]
        api.put_object("configmaps", {"metadata": {"name": FIRST}, "data": {"index": index}})

        with pytest.raises(MalformedAnswer, match=f"{FIRST} has lost its `records`"):
            make_store(api).fetch_claims()


def test_what_a_write_replaced_is_deleted_and_a_write_that_may_not_says_so_before_it_is_too_much() -> None:
    with KubernetesApi() as api:
        store = make_store(api)
        store.write(adopt_bulky(BLUE, 20))
        maps = len(api.objects("configmaps"))
        api.forbid("delete", "configmaps")
        for number in range(23):
            store.write([adopt(f"n0005-{number:02d}.example.org", BLUE)])
        with pytest.raises(NothingSent, match="the right to delete"):
            store.write([adopt("n0005-23.example.org", BLUE)])
        left_over = len(api.objects("configmaps")) - maps
        claims = store.fetch_claims()
        api.allow_all()
        for name in [read_metadata(each, "name") for each in api.objects("configmaps")][-10:]:
            if name not in read_data(api, FIRST)["index"]:
                api.delete_object("configmaps", name)

        store.write([adopt("n0001-b.example.org", BLUE)])

        assert left_over == 23
        assert len(api.objects("configmaps")) == maps
        assert len(store.fetch_claims()) == len(claims) + 1


def test_a_success_that_is_none_deletes_no_shard_that_still_counts() -> None:
    with KubernetesApi() as api:
        store = make_store(api)
        store.write(adopt_bulky(BLUE, 20))
        claims = store.fetch_claims()
        api.faults.plan("update /configmaps", echo_without_writing())

        store.write([adopt("n0001-b.example.org", BLUE)])

        assert store.fetch_claims() == claims


def test_shards_of_an_earlier_release_are_read_and_replaced() -> None:
    rows = {name: make_row(f"{name}.example.org", BLUE) for name in ("a", "m", "z")}
    shards = [
        {"map": FIRST, "rows": 1, "digest": "0a"},
        {"map": f"{FIRST}-1", "rows": 2, "digest": "0b", "from": ["m.example.org", "A", ""]},
    ]
    index = json.dumps({"version": 1, "generation": 1, "shards": shards})
    # It had split a third shard from the first, and not yet taken the rows of the first out of the second.
    mark = '{"version":1,"digest":"0b","from":["m.example.org","A",""],"cut":1}'
    with KubernetesApi() as api:
        api.put_object("configmaps", make_map(FIRST, [rows["a"]], index=index))
        api.put_object("configmaps", make_map(f"{FIRST}-1", rows.values(), shard=mark))
        api.put_object("configmaps", make_map(f"{FIRST}-2", [rows["z"]], shard=mark))
        store = make_store(api)
        before = owners_of(store)

        store.write([move("z.example.org", BLUE, GREEN)])

        assert before == {f"{name}.example.org": {BLUE} for name in rows}
        assert owners_of(store) == {**before, "z.example.org": {GREEN}}
        assert [read_metadata(each, "name") for each in api.objects("configmaps")] == [
            FIRST,
            f"{FIRST}-3",
            f"{GREEN}-storage",
        ]


def test_many_namespaces_maps_are_read_page_by_page() -> None:
    with KubernetesApi() as api:
        for number in range(1_100):
            api.put_object("configmaps", make_owned(f"owner-{number}", f"n{number}.example.org"))

        claims = make_store(api).fetch_claims()

    assert {claim.key for claim in claims} == {
        EndpointKey(f"n{number}.example.org", "A", "") for number in range(1_100)
    }
