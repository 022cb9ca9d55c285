"""Rows that are written before their record sets, so that a crash leaves nothing unmanaged."""

import msgspec

from providers.registries.claim import OwnershipState
from providers.registries.join_stores import join_stores
from providers.registries.pairing import pair
from providers.registries.stored_claim import StoreContents, StoredClaim, StoredClaimChange
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    make_map,
    make_owned,
    make_row,
    make_store,
    make_text,
    move,
    read_data,
    read_rows,
)
from tests.reference_server import make_record

WWW = EndpointKey("www.example.org", "A", "")
BLUE_MAP = f"{BLUE}-storage"


def judge(api: KubernetesApi, *shown: Endpoint) -> list[tuple[OwnershipState, str]]:
    """Whose the record sets a provider shows are, with what the registry says."""
    contents = StoreContents("1", "configmap", tuple(make_store(api).fetch_claims()))
    pairing = join_stores(pair(shown, []), [contents], [])
    return [(record.state, record.owner_id) for record in pairing.records]


def test_a_crash_after_the_provider_s_change_leaves_the_record_set_owned() -> None:
    record = make_record("www.example.org")
    with KubernetesApi() as api:
        make_store(api).write([StoredClaimChange(record, None, make_text(BLUE), is_intent=True)])

        after_the_crash = judge(api, record)
        created_by_another = judge(api, make_record("www.example.org", "A", ["192.0.2.99"]))

        assert after_the_crash == [(OwnershipState.OWNED, BLUE)]
        assert created_by_another == [(OwnershipState.UNMANAGED, "")]


def test_an_intent_stands_apart_until_it_came_true() -> None:
    record = make_record("www.example.org")
    with KubernetesApi() as api:
        store = make_store(api)

        store.write([StoredClaimChange(record, None, make_text(BLUE, "a/b"), is_intent=True)])
        meant = store.fetch_claims()
        meant_rows = (read_rows(api, BLUE_MAP), read_rows(api, BLUE_MAP, "intents"))
        store.write([StoredClaimChange(record, make_text(BLUE, "a/b"), make_text(BLUE, "a/b"))])

        row = {**make_row("www.example.org", BLUE), "labels": {"resource": "a/b"}}
        assert meant == [StoredClaim(WWW, make_text(BLUE, "a/b"), meant_targets=("192.0.2.1",))]
        assert meant_rows == ([], [row])
        assert store.fetch_claims() == [StoredClaim(WWW, make_text(BLUE, "a/b"))]
        assert read_rows(api, BLUE_MAP) == [row]
        assert "intents" not in read_data(api, BLUE_MAP)


def test_an_intent_that_came_to_nothing_goes_and_leaves_no_row() -> None:
    record = make_record("www.example.org")
    with KubernetesApi() as api:
        store = make_store(api)
        store.write([StoredClaimChange(record, None, make_text(BLUE), is_intent=True)])

        store.write([StoredClaimChange(record, make_text(BLUE), None)])

        assert store.fetch_claims() == []
        assert read_rows(api, BLUE_MAP) == read_rows(api, BLUE_MAP, "intents") == []


def test_an_intent_leaves_the_row_of_nobody_as_it_is_and_may_mean_other_targets_later() -> None:
    other = make_record("www.example.org", "A", ["192.0.2.9"])
    with KubernetesApi() as api:
        api.put_object("configmaps", make_map(BLUE_MAP, [make_row("www.example.org", "")]))
        store = make_store(api)

        for record in (make_record("www.example.org"), other):
            store.write([StoredClaimChange(record, None, make_text(BLUE), is_intent=True)])

        assert read_rows(api, BLUE_MAP) == [make_row("www.example.org", "")]
        assert store.fetch_claims() == [StoredClaim(WWW, make_text(BLUE), meant_targets=("192.0.2.9",))]


def test_a_claim_that_moves_is_never_a_mere_intent_on_its_way() -> None:
    change = move("www.example.org", BLUE, GREEN)
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))

        make_store(api).write([msgspec.structs.replace(change, is_intent=True)])

        assert make_store(api).fetch_claims() == [StoredClaim(WWW, make_text(GREEN))]


def test_an_intent_that_came_true_can_be_given_away() -> None:
    record = make_record("www.example.org")
    with KubernetesApi() as api:
        make_store(api).write([StoredClaimChange(record, None, make_text(BLUE), is_intent=True)])

        make_store(api).write([move("www.example.org", BLUE, GREEN)])

        assert judge(api, record) == [(OwnershipState.OWNED, GREEN)]
        assert "intents" not in read_data(api, BLUE_MAP)
