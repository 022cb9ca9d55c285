"""Claims in ConfigMaps as the registry proposal has them, over a Kubernetes API."""

import json

import msgspec
import pytest

from providers.http.errors import NothingSent
from providers.registries.kubernetes_object import read_object, read_texts
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.wire.endpoint import EndpointKey
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    adopt,
    make_map,
    make_owned,
    make_row,
    make_store,
    make_text,
    move,
    owners_of,
    read_data,
    read_rows,
    release,
    writes_to,
)
from tests.reference_server import make_record

WWW = EndpointKey("www.example.org", "A", "")
BLUE_MAP, GREEN_MAP = f"{BLUE}-storage", f"{GREEN}-storage"


def test_claims_are_what_each_owner_s_map_says_of_its_own() -> None:
    with KubernetesApi() as api:
        rows = [
            make_row("www.example.org", BLUE),
            make_row("api.example.org", GREEN),
            make_row("free.example.org", ""),
        ]
        api.put_object("configmaps", make_map(BLUE_MAP, rows))
        api.put_object("configmaps", make_map(GREEN_MAP, [make_row("shop.example.org", GREEN)]))

        claims = make_store(api).fetch_claims()

    assert claims == [
        StoredClaim(WWW, make_text(BLUE)),
        StoredClaim(EndpointKey("shop.example.org", "A", ""), make_text(GREEN)),
    ]


def test_a_namespace_with_nothing_of_ours_has_no_claims_and_loses_nothing() -> None:
    with KubernetesApi() as api:
        foreign = [
            api.put_object("configmaps", {"metadata": {"name": "grafana-storage"}, "data": {"index": "a,b"}}),
            api.put_object(
                "configmaps", {"metadata": {"name": "kube-root-ca.crt"}, "data": {"records": "x"}}
            ),
            api.put_object("configmaps", {"metadata": {"name": "empty-storage"}}),
        ]
        store = make_store(api)

        claims = store.fetch_claims()
        store.write([adopt("www.example.org", BLUE)])

        assert claims == []
        held = {str(read_object(each, "metadata")["name"]): each for each in api.objects("configmaps")}
        assert [held[name] for name in ("grafana-storage", "kube-root-ca.crt", "empty-storage")] == foreign


def test_a_first_row_makes_the_map_and_every_old_reader_understands_it() -> None:
    with KubernetesApi() as api:
        make_store(api).write([adopt("www.example.org", BLUE)])

        assert read_rows(api, BLUE_MAP) == [make_row("www.example.org", BLUE)]
        assert writes_to(api) == ["POST"]


def test_all_changes_of_a_map_are_one_request() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "a.example.org", "b.example.org"))

        make_store(api).write(
            [
                adopt("c.example.org", BLUE),
                StoredClaimChange(make_record("a.example.org"), make_text(BLUE), make_text(BLUE, "x/y")),
                release("b.example.org", BLUE),
            ]
        )

        assert len(writes_to(api)) == 2
        assert [(row["dnsname"], row["owner"], row.get("labels")) for row in read_rows(api, BLUE_MAP)] == [
            ("a.example.org", BLUE, {"resource": "x/y"}),
            ("b.example.org", "", None),
            ("c.example.org", BLUE, None),
        ]


def test_a_claim_that_moves_stands_in_the_new_map_before_it_leaves_the_old_one() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))

        make_store(api).write([move("www.example.org", BLUE, GREEN)])

        assert writes_to(api) == [
            "POST",
            f"PUT {BLUE_MAP}",
        ]
        assert read_rows(api, GREEN_MAP) == read_rows(api, BLUE_MAP) == [make_row("www.example.org", GREEN)]
        assert owners_of(make_store(api)) == {"www.example.org": {GREEN}}


def test_what_else_is_in_a_map_is_kept() -> None:
    with KubernetesApi() as api:
        held = make_map(
            BLUE_MAP,
            [{**make_row("odd.example.org", BLUE), "note": "by hand"}, make_row("www.example.org", BLUE), 7],
            readme="ours",
        )
        held["metadata"] = {
            "name": BLUE_MAP,
            "labels": {"team": "blue"},
            "annotations": {"note": "kept"},
            "finalizers": ["example.org/keep"],
        }
        held["binaryData"] = {"logo": "AAAA"}
        before = api.put_object("configmaps", held)

        make_store(api).write([move("www.example.org", BLUE, GREEN), adopt("new.example.org", BLUE)])

        after = api.read_object("configmaps", BLUE_MAP)
        assert {**after, "metadata": None, "data": None} == {**before, "metadata": None, "data": None}
        old, new = (dict(read_object(each, "metadata")) for each in (before, after))
        assert old.pop("resourceVersion") != new.pop("resourceVersion")
        assert old == new
        assert read_texts(after, "data")["readme"] == "ours"
        odd: list[object] = [7, {**make_row("odd.example.org", BLUE), "note": "by hand"}]
        assert [each for each in read_rows(api, BLUE_MAP) if each in odd] == odd
        assert make_row("www.example.org", GREEN) in read_rows(api, BLUE_MAP)


def test_targets_and_the_set_identifier_are_those_the_provider_shows() -> None:
    record = make_record("www.example.org", "A", ["192.0.2.7", "192.0.2.8"], set_identifier="eu")
    with KubernetesApi() as api:
        store = make_store(api)

        store.write([StoredClaimChange(record, None, make_text(BLUE))])

        assert read_rows(api, BLUE_MAP) == [
            {
                **make_row("www.example.org", BLUE, "192.0.2.7"),
                "targets": ["192.0.2.7", "192.0.2.8"],
                "set": "eu",
            }
        ]
        assert store.fetch_claims() == [
            StoredClaim(EndpointKey("www.example.org", "A", "eu"), make_text(BLUE))
        ]


def test_a_record_set_nobody_shows_any_more_keeps_the_targets_its_row_had() -> None:
    bare = msgspec.structs.replace(make_record("www.example.org"), targets=())
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))

        make_store(api).write([StoredClaimChange(bare, make_text(BLUE), make_text(GREEN))])

        assert read_rows(api, GREEN_MAP) == [make_row("www.example.org", GREEN)]


def test_a_row_is_brought_up_to_date_by_saying_the_same_again() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        record = make_record("www.example.org", "A", ["192.0.2.9"])
        store = make_store(api)

        for _ in range(2):
            store.write([StoredClaimChange(record, make_text(BLUE), make_text(BLUE))])

        assert read_rows(api, BLUE_MAP) == [make_row("www.example.org", BLUE, "192.0.2.9")]
        assert len(writes_to(api)) == 1


def test_what_is_released_names_who_claims_it_else_and_nobody_otherwise() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "both.example.org", "blue.example.org"))
        api.put_object("configmaps", make_owned(GREEN, "both.example.org"))

        make_store(api).write([release("both.example.org", BLUE), release("blue.example.org", BLUE)])

        assert read_rows(api, BLUE_MAP) == [
            make_row("blue.example.org", ""),
            make_row("both.example.org", GREEN),
        ]


@pytest.mark.parametrize(
    "change",
    [
        move("gone.example.org", BLUE, GREEN),
        move("www.example.org", BLUE, GREEN, "other/labels"),
        adopt("www.example.org", BLUE, "other/labels"),
        release("www.example.org", BLUE, "other/labels"),
        adopt("twice.example.org", BLUE),
        move("www.example.org", BLUE, "Red"),
        move("www.example.org", BLUE, "r" * 250),
        StoredClaimChange(make_record("www.example.org"), None, None),
        StoredClaimChange(make_record("a b"), None, make_text(BLUE)),
        StoredClaimChange(make_record("new.example.org"), None, "made by hand"),
        StoredClaimChange(make_record("new.example.org"), None, f'"{make_text(BLUE)}"'),
        StoredClaimChange(make_record("new.example.org"), None, make_text(BLUE, "x" * 70_000)),
        StoredClaimChange(
            msgspec.structs.replace(make_record("new.example.org"), targets=()),
            None,
            make_text(BLUE),
            is_intent=True,
        ),
    ],
)
def test_where_one_change_does_not_fit_none_is_sent(change: StoredClaimChange) -> None:
    with KubernetesApi() as api:
        rows = [make_row("www.example.org", BLUE), *[make_row("twice.example.org", BLUE)] * 2]
        api.put_object("configmaps", make_map(BLUE_MAP, rows))

        with pytest.raises(NothingSent):
            make_store(api).write([adopt("fitting.example.org", BLUE), change])

        assert writes_to(api) == []


def test_a_change_that_stands_already_is_taken_for_made_and_sends_nothing() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))

        for change in (
            move("www.example.org", GREEN, BLUE),
            adopt("www.example.org", BLUE),
            release("gone.example.org", BLUE),
        ):
            make_store(api).write([change])

        assert writes_to(api) == []


def test_the_same_record_set_twice_in_one_write_is_refused() -> None:
    with KubernetesApi() as api:
        with pytest.raises(NothingSent, match="twice"):
            make_store(api).write([adopt("www.example.org", BLUE), adopt("www.example.org", BLUE, "a/b")])

        assert writes_to(api) == []


def test_an_owner_no_map_can_be_named_after_is_refused_by_name() -> None:
    with KubernetesApi() as api, pytest.raises(NothingSent, match="'Blue_Cluster' cannot be kept"):
        make_store(api).write([adopt("www.example.org", "Blue_Cluster")])


def test_a_doubtful_row_does_not_fail_the_others() -> None:
    rows = [make_row("twice.example.org", BLUE)] * 2 + [make_row("www.example.org", BLUE), {"owner": BLUE}]
    with KubernetesApi() as api:
        api.put_object("configmaps", make_map(BLUE_MAP, rows))

        doubtful, good = make_store(api).fetch_claims()

    assert doubtful.key.name == "twice.example.org"
    assert "more than one row" in doubtful.problem
    assert good == StoredClaim(WWW, make_text(BLUE))


def test_rows_stay_in_a_fixed_order_one_on_each_line() -> None:
    with KubernetesApi() as api:
        store = make_store(api)
        store.write([adopt("c.example.org", BLUE), adopt("a.example.org", BLUE)])

        store.write([adopt("b.example.org", BLUE)])

        lines = read_data(api, BLUE_MAP)["records"].splitlines()
        assert [json.loads(line.rstrip(","))["dnsname"][0] for line in lines[1:-1]] == ["a", "b", "c"]
