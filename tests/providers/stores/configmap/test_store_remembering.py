"""A store that remembers reads and writes as one that does not, whoever else writes, and decodes less."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.http.errors import ProviderError
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from tests.depth import examples
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    adopt,
    adopt_bulky,
    echo_without_writing,
    make_bulky,
    make_map,
    make_row,
    make_store,
    make_text,
    move,
    read_rows,
)

BULKY = make_bulky(40)
# (which record set, whose it is to be, who writes it, what becomes of the maps meanwhile)
ACTS = st.tuples(
    st.integers(0, 39),
    st.sampled_from([BLUE, GREEN, ""]),
    st.booleans(),
    st.sampled_from(["", "", "", "lose shard", "lose owner", "old reader"]),
)


def make_remembering(api: KubernetesApi) -> ConfigMapStore:
    return ConfigMapStore(api.client(), NAMESPACE, max_items=100_000, remembers=True)


def told(store: ConfigMapStore) -> list[StoredClaim] | str:
    """What a store says, or why it says nothing."""
    try:
        return sorted(store.fetch_claims(), key=lambda claim: (claim.key, claim.text))
    except ProviderError as error:
        return str(error)


def find_change(api: KubernetesApi, number: int, owner: str) -> StoredClaimChange | None:
    record, label = BULKY[number]
    claims = told(make_store(api))
    if isinstance(claims, str):
        return None
    olds = [claim.text for claim in claims if claim.key.name == record.dns_name and not claim.problem]
    new = make_text(owner, label) if owner else None
    old = olds[0] if olds else None
    return None if len(olds) > 1 or old == new else StoredClaimChange(record, old, new)


def disturb(api: KubernetesApi, what: str) -> None:
    """Somebody deletes a map, or writes it as one that knows only the proposal."""
    shard = {"lose shard": f"{BLUE}-storage-1", "lose owner": f"{GREEN}-storage"}.get(what, "")
    names = [
        str(obj["metadata"]["name"]) for obj in api.objects("configmaps") if isinstance(obj["metadata"], dict)
    ]
    if shard in names:
        api.delete_object("configmaps", shard)
    if what == "old reader":
        api.put_object("configmaps", make_map(f"{GREEN}-storage", [make_row("old.example.org", GREEN)]))


@pytest.mark.deep
@settings(deadline=None, max_examples=examples(8))
@given(st.lists(ACTS, max_size=8))
def test_whatever_anybody_writes_it_says_what_a_fresh_reading_says(
    acts: list[tuple[int, str, bool, str]],
) -> None:
    with KubernetesApi() as api:
        make_store(api).write(adopt_bulky(BLUE, 20))
        remembering = make_remembering(api)

        for number, owner, is_ours, what in acts:
            change = find_change(api, number, owner)
            if change is not None:
                (remembering if is_ours else make_store(api)).write([change])
            disturb(api, what)

            assert told(remembering) == told(make_store(api))
            assert remembering.fetch_reading().digest == make_store(api).fetch_reading().digest


def test_a_shard_that_nobody_wrote_is_not_decoded_again() -> None:
    with KubernetesApi() as api:
        make_store(api).write(adopt_bulky(BLUE, 40))
        store = make_remembering(api)
        first = {claim.key: claim for claim in store.fetch_claims()}
        record, label = BULKY[0]

        store.write([StoredClaimChange(record, make_text(BLUE, label), make_text(BLUE, "another"))])
        again = {claim.key: claim for claim in store.fetch_claims()}

        changed = {key.name for key, claim in again.items() if claim is not first[key]}
        kept = {str(row["dnsname"]) for row in read_rows(api, f"{BLUE}-storage-5")}
        assert record.dns_name in changed == kept
        assert len(kept) < len(again) == 40


def test_the_answer_to_a_write_is_not_believed() -> None:
    with KubernetesApi() as api:
        make_store(api).write([adopt("www.example.org", BLUE)])
        store = make_remembering(api)
        store.fetch_claims()
        api.faults.plan("update /configmaps", echo_without_writing())

        store.write([StoredClaimChange(BULKY[0][0], None, make_text(BLUE))])

        assert [claim.key.name for claim in store.fetch_claims()] == ["www.example.org"]


def test_a_write_that_finds_another_writer_reads_what_he_wrote() -> None:
    with KubernetesApi() as api:
        make_store(api).write([adopt("www.example.org", BLUE), adopt("api.example.org", BLUE)])
        store = make_remembering(api)
        store.fetch_claims()
        make_store(api).write([move("www.example.org", BLUE, GREEN)])

        store.write([move("api.example.org", BLUE, GREEN)])

        assert {claim.text for claim in store.fetch_claims()} == {make_text(GREEN)}
