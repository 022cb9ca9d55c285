"""Claims of registry stores and of the zone together: which owner a record set has."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import (
    Claim,
    ClaimVerdict,
    OwnershipState,
    PairedEndpoint,
    Pairing,
    TxtProfile,
)
from providers.registries.join_stores import MAX_STORED_CLAIMS_PER_RECORD_SET, join_stores
from providers.registries.ownership import explain_ownership
from providers.registries.pairing import pair
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.reference_server import make_claim, make_record

WWW = EndpointKey("www.example.org", "A", "")
BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/www"
_OTHER = TxtProfile(reference="8", prefix="own.")
GREEN = BLUE.replace("blue", "green")


def join(endpoints: list[Endpoint], *claims: StoredClaim) -> Pairing:
    return join_stores(pair(endpoints, []), [StoreContents("7", "configmap", claims)], [])


def www(pairing: Pairing) -> PairedEndpoint:
    return next(record for record in pairing.records if record.key == WWW)


def verdicts(pairing: Pairing) -> list[tuple[str, ClaimVerdict]]:
    return [(claim.registry, claim.verdict) for claim in pairing.claims]


def test_a_stored_claim_decides_where_the_zone_says_nothing() -> None:
    pairing = join([make_record(), make_record("b.example.org")], StoredClaim(WWW, BLUE))

    record = www(pairing)
    assert (record.state, record.owner_id, record.effective_claim) == (
        OwnershipState.OWNED,
        "blue-cluster",
        0,
    )
    (claim,) = pairing.claims
    assert (claim.registry, claim.verdict, claim.raw) == ("configmap", ClaimVerdict.EFFECTIVE, BLUE)
    assert (claim.resource, claim.profile.reference) == ("ingress/shop/www", "7")
    why = explain_ownership(WWW, record.state, record.owner_id, pairing.claims)
    assert "its row in the configmap registry names it" in why
    assert pairing.records[0].state == OwnershipState.UNMANAGED


def test_a_row_written_before_its_record_set_counts_once_that_is_as_intended() -> None:
    record = make_record(targets=("192.0.2.2", "192.0.2.1"))
    meant = StoredClaim(WWW, BLUE, meant_targets=("192.0.2.1", "192.0.2.2"))

    pairing = join([record], meant)

    assert (www(pairing).state, www(pairing).owner_id) == (OwnershipState.OWNED, "blue-cluster")
    assert verdicts(pairing) == [("configmap", ClaimVerdict.EFFECTIVE)]


def test_a_row_written_before_a_record_set_that_is_another_speaks_for_nobody() -> None:
    record = make_record(targets=("203.0.113.9",))

    pairing = join([record], StoredClaim(WWW, BLUE, meant_targets=("192.0.2.1",)))

    assert (www(pairing).state, www(pairing).owner_id) == (OwnershipState.UNMANAGED, "")
    assert verdicts(pairing) == [("configmap", ClaimVerdict.ORPHAN)]
    assert "was not created as intended" in pairing.claims[0].problem


def test_another_owners_claim_in_the_zone_disagrees_with_it() -> None:
    pairing = join([make_record(), make_claim()], StoredClaim(WWW, GREEN))

    assert (www(pairing).state, www(pairing).owner_id) == (OwnershipState.CONFLICT, "")
    assert verdicts(pairing) == [("txt", ClaimVerdict.CONFLICTING), ("configmap", ClaimVerdict.CONFLICTING)]


def test_claims_of_one_owner_are_both_the_one_its_instance_sees() -> None:
    pairing = join([make_record(), make_claim()], StoredClaim(WWW, BLUE))

    assert (www(pairing).state, www(pairing).owner_id) == (OwnershipState.OWNED, "blue-cluster")
    assert www(pairing).claims == (0, 1)
    assert verdicts(pairing) == [("txt", ClaimVerdict.EFFECTIVE), ("configmap", ClaimVerdict.EFFECTIVE)]


def test_a_row_without_its_record_set_is_an_orphan() -> None:
    pairing = join([make_record("b.example.org")], StoredClaim(WWW, BLUE))

    assert verdicts(pairing) == [("configmap", ClaimVerdict.ORPHAN)]
    assert pairing.records[0].state == OwnershipState.UNMANAGED


def test_a_row_that_is_not_valid_leaves_its_record_set_unknown() -> None:
    for claim in (StoredClaim(WWW, BLUE, "Two objects claim it."), StoredClaim(WWW, "heritage=external-dns")):
        pairing = join([make_record()], claim)

        assert www(pairing).state == OwnershipState.UNKNOWN
        assert verdicts(pairing) == [("configmap", ClaimVerdict.UNREADABLE)]
        assert pairing.claims[0].problem


def test_a_row_speaks_for_exactly_its_record_set() -> None:
    others = [make_record(WWW.name, "AAAA", ("2001:db8::1",)), make_record(set_identifier="eu")]
    pairing = join([make_record(), *others], StoredClaim(WWW, BLUE))

    states = {record.key: record.state for record in pairing.records}
    assert states.pop(WWW) == OwnershipState.OWNED
    assert set(states.values()) == {OwnershipState.UNMANAGED}


def test_more_rows_than_are_allowed_are_all_ignored() -> None:
    crowd = [StoredClaim(WWW, f"{BLUE}-{n}") for n in range(MAX_STORED_CLAIMS_PER_RECORD_SET + 1)]

    pairing = join([make_record()], *crowd)

    assert www(pairing).state == OwnershipState.UNKNOWN


_UNHEARD = {ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED}
texts = st.sampled_from([BLUE, GREEN, "heritage=external-dns", "", "nonsense"]) | st.text()
keys = st.sampled_from([WWW, EndpointKey(WWW.name, "AAAA", ""), EndpointKey("b.example.org", "A", "eu")])
stored = st.builds(StoredClaim, keys, texts, st.sampled_from(["", "", "Broken."]))
zones = st.lists(
    st.sampled_from(
        [make_record(), make_claim(), make_claim(owner="red-cluster"), make_record("b.example.org")]
    ),
    max_size=4,
)


@settings(deadline=None)
@given(zones, st.lists(st.lists(stored, max_size=5), max_size=3))
def test_any_stores_are_read_and_their_order_does_not_show(
    zone: list[Endpoint], contents: list[list[StoredClaim]]
) -> None:
    stores = [StoreContents(str(n), "configmap", tuple(claims)) for n, claims in enumerate(contents)]
    turned = [StoreContents(each.reference, each.kind, each.claims[::-1]) for each in stores[::-1]]

    pairing = join_stores(pair(zone, []), stores, [])

    assert join_stores(pair(zone, []), turned, []) == pairing
    assert len(pairing.claims) == len(pair(zone, []).claims) + sum(len(each) for each in contents)
    for record in pairing.records:
        read = [pairing.claims[number] for number in record.claims]
        _check(record, [claim for claim in read if claim.owner_id], read)


@given(zones)
def test_without_stores_nothing_is_another(zone: list[Endpoint]) -> None:
    pairing = pair(zone, [])

    assert join_stores(pairing, [], []) is pairing
    assert join_stores(pairing, [StoreContents("7", "configmap", ())], []) is pairing


def _check(record: PairedEndpoint, readable: list[Claim], read: list[Claim]) -> None:
    obeyed = [claim for claim in readable if claim.verdict not in _UNHEARD]
    owners = {claim.owner_id for claim in obeyed}
    if len(owners) == 1:
        assert (record.state, record.owner_id) == (OwnershipState.OWNED, *owners)
    elif owners:
        assert (record.state, record.owner_id) == (OwnershipState.CONFLICT, "")
    else:
        assert record.state == (OwnershipState.UNKNOWN if read else OwnershipState.UNMANAGED)


def test_a_row_decides_over_the_txt_record_that_repeats_it_and_over_no_other() -> None:
    copy, other = make_claim(owner="green-cluster"), make_claim(owner="green-cluster", profile=_OTHER)
    stores = [StoreContents("7", "database", (StoredClaim(WWW, BLUE),))]
    profiles = [TxtProfile(reference="7"), _OTHER]

    copied = join_stores(pair([make_record(), copy], profiles), stores, profiles)
    beside = join_stores(pair([make_record(), copy, other], profiles), stores, profiles)
    uncopied = join_stores(pair([make_record(), copy], []), stores, [])

    assert (www(copied).state, www(copied).owner_id) == (OwnershipState.OWNED, "blue-cluster")
    assert verdicts(copied) == [("txt", ClaimVerdict.OVERRULED), ("database", ClaimVerdict.EFFECTIVE)]
    assert www(copied).effective_claim == 1
    assert www(beside).state == OwnershipState.CONFLICT
    assert www(uncopied).state == OwnershipState.CONFLICT
