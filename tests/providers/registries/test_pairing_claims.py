"""Which claim speaks for which record set under one profile."""

import msgspec
import pytest

from providers.registries.claim import (
    DEFAULT_PROFILE,
    ClaimFormat,
    ClaimVerdict,
    OwnershipState,
    TxtProfile,
)
from providers.registries.encryption import encrypt_labels_text
from providers.registries.pairing import MAX_CLAIMS_PER_RECORD_SET
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.providers.registries.zone import (
    BLUE,
    GREEN,
    OTHER_KEY,
    claim_at,
    make_record,
    make_txt,
    pair_zone,
    record_at,
)


def test_a_claim_of_its_type_owns_the_record_set() -> None:
    www, claim = make_record("www.example.org"), make_txt("a-www.example.org", BLUE)

    pairing = pair_zone(www, claim)

    (record,) = pairing.records
    assert record.key == EndpointKey("www.example.org", "A", "")
    assert (record.state, record.owner_id) == (OwnershipState.OWNED, "blue-cluster")
    assert (record.effective_claim, record.claims) == (0, (0,))
    (found,) = pairing.claims
    assert found.endpoint is claim
    assert (found.raw, found.format, found.verdict) == (BLUE, ClaimFormat.NEW, ClaimVerdict.EFFECTIVE)
    assert (found.record_name, found.record_type, found.set_identifier) == ("www.example.org", "A", "")
    assert (found.owner_id, found.resource) == ("blue-cluster", "ingress/shop/web")
    assert (found.is_encrypted, found.problem) == (False, "")


def test_a_record_set_without_claim_is_unmanaged() -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt("a-api.example.org", BLUE))

    record = record_at(pairing, "www.example.org")
    assert (record.state, record.owner_id, record.claims) == (OwnershipState.UNMANAGED, "", ())


def test_a_claim_in_any_spelling_owns_what_is_spelled_in_lower_case() -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt("A-www.EXAMPLE.org", BLUE))

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"


def test_names_beyond_ascii_are_joined_to_their_claims() -> None:
    pairing = pair_zone(make_record("münchen.example.org"), make_txt("a-münchen.example.org", BLUE))

    assert record_at(pairing, "xn--mnchen-3ya.example.org").owner_id == "blue-cluster"


@pytest.mark.parametrize("record_type", ["A", "CNAME", "MX", "CAA"])
def test_a_legacy_claim_speaks_for_every_type(record_type: str) -> None:
    pairing = pair_zone(make_record("www.example.org", record_type), make_txt("www.example.org", BLUE))

    assert record_at(pairing, "www.example.org", record_type).owner_id == "blue-cluster"
    assert pairing.claims[0].format is ClaimFormat.LEGACY
    assert pairing.claims[0].record_type == ""


def test_a_legacy_claim_never_speaks_for_aaaa() -> None:
    pairing = pair_zone(make_record("www.example.org", "AAAA"), make_txt("www.example.org", BLUE))

    assert record_at(pairing, "www.example.org", "AAAA").state is OwnershipState.UNMANAGED
    assert pairing.claims[0].verdict is ClaimVerdict.ORPHAN


def test_a_legacy_claim_beside_a_new_one_of_the_same_owner_is_superseded() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("www.example.org", BLUE),
        make_txt("a-www.example.org", BLUE),
    )

    record = record_at(pairing, "www.example.org")
    assert (record.state, len(record.claims)) == (OwnershipState.OWNED, 2)
    assert record.effective_claim == record.claims[0]
    assert pairing.claims[record.claims[0]].format is ClaimFormat.NEW
    assert claim_at(pairing, "a-www.example.org").verdict is ClaimVerdict.EFFECTIVE
    assert claim_at(pairing, "www.example.org").verdict is ClaimVerdict.SUPERSEDED


def test_a_legacy_claim_that_another_type_still_needs_stays_effective() -> None:
    pairing = pair_zone(
        make_record("www.example.org", "A"),
        make_record("www.example.org", "MX"),
        make_txt("a-www.example.org", BLUE),
        make_txt("www.example.org", BLUE),
    )

    assert claim_at(pairing, "www.example.org").verdict is ClaimVerdict.EFFECTIVE


def test_a_conflict_of_one_type_leaves_the_other_alone() -> None:
    pairing = pair_zone(
        make_record("www.example.org", "A"),
        make_record("www.example.org", "AAAA"),
        make_txt("a-www.example.org", BLUE),
        make_txt("x.a-www.example.org", GREEN),
        make_txt("aaaa-www.example.org", GREEN),
        profiles=[DEFAULT_PROFILE, TxtProfile(prefix="x.")],
    )

    assert record_at(pairing, "www.example.org", "A").state is OwnershipState.CONFLICT
    assert record_at(pairing, "www.example.org", "AAAA").owner_id == "green-cluster"


def test_an_alias_may_be_claimed_by_a_cname_claim() -> None:
    pairing = pair_zone(
        make_record("www.example.org", is_alias=True), make_txt("cname-www.example.org", BLUE)
    )

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert pairing.claims[0].verdict is ClaimVerdict.EFFECTIVE


def test_a_cname_claim_beside_the_aliass_own_is_obsolete() -> None:
    pairing = pair_zone(
        make_record("www.example.org", is_alias=True),
        make_txt("cname-www.example.org", BLUE),
        make_txt("a-www.example.org", BLUE),
    )

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert claim_at(pairing, "cname-www.example.org").verdict is ClaimVerdict.OBSOLETE


def test_a_cname_claim_says_nothing_of_an_ordinary_address() -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt("cname-www.example.org", BLUE))

    assert record_at(pairing, "www.example.org").state is OwnershipState.UNMANAGED
    assert pairing.claims[0].verdict is ClaimVerdict.ORPHAN


def test_set_identifiers_join_exactly() -> None:
    pairing = pair_zone(
        make_record("www.example.org", set_identifier="eu"),
        make_record("www.example.org", set_identifier="EU"),
        make_txt("a-www.example.org", BLUE, set_identifier="eu"),
        make_txt("www.example.org", GREEN, set_identifier="EU"),
    )

    owners = {record.key.set_identifier: record.owner_id for record in pairing.records}
    assert owners == {"eu": "blue-cluster", "EU": "green-cluster"}


def test_an_orphan_says_what_to_make_sure_of_first() -> None:
    pairing = pair_zone(make_txt("a-gone.example.org", BLUE))

    (claim,) = pairing.claims
    assert (claim.verdict, claim.owner_id) == (ClaimVerdict.ORPHAN, "blue-cluster")
    assert "not registered" in claim.problem


def test_a_foreign_txt_is_an_ordinary_record_even_under_a_claims_name() -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt("a-www.example.org", '"hello"'))

    assert record_at(pairing, "a-www.example.org", "TXT").state is OwnershipState.UNMANAGED
    assert record_at(pairing, "www.example.org").state is OwnershipState.UNMANAGED
    assert pairing.claims == ()


def test_a_txt_record_may_be_claimed_like_any_other() -> None:
    pairing = pair_zone(make_txt("www.example.org", "hello"), make_txt("txt-www.example.org", BLUE))

    assert record_at(pairing, "www.example.org", "TXT").owner_id == "blue-cluster"


def test_a_txt_that_mixes_heritage_with_text_is_both_and_does_not_own_itself() -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt("www.example.org", BLUE, "v=spf1 -all"))

    assert record_at(pairing, "www.example.org", "A").owner_id == "blue-cluster"
    assert record_at(pairing, "www.example.org", "TXT").state is OwnershipState.UNMANAGED


def test_a_claim_without_owner_leaves_the_owner_unknown() -> None:
    text = "heritage=external-dns,external-dns/resource=ingress/shop/web"
    pairing = pair_zone(make_record("www.example.org"), make_txt("a-www.example.org", text))

    (claim,) = pairing.claims
    assert record_at(pairing, "www.example.org").state is OwnershipState.UNKNOWN
    assert (claim.verdict, claim.problem) == (ClaimVerdict.UNREADABLE, "The claim names no owner.")


def test_a_claim_that_names_nobody_hides_a_legacy_one() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", "heritage=external-dns"),
        make_txt("www.example.org", BLUE),
    )

    record = record_at(pairing, "www.example.org")
    assert (record.state, record.owner_id, record.effective_claim) == (OwnershipState.UNKNOWN, "", None)
    assert claim_at(pairing, "a-www.example.org").verdict is ClaimVerdict.UNREADABLE
    assert claim_at(pairing, "www.example.org").verdict is ClaimVerdict.IGNORED


def test_an_encrypted_claim_nobody_can_open_does_not_outweigh_a_readable_one() -> None:
    sealed = encrypt_labels_text(GREEN.strip('"'), OTHER_KEY)
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", sealed),
        make_txt("www.example.org", BLUE),
    )

    record = record_at(pairing, "www.example.org")
    assert (record.state, record.owner_id) == (OwnershipState.OWNED, "blue-cluster")
    assert record.claims[0] == record.effective_claim


def test_a_record_whose_name_cannot_be_read_is_kept_as_unknown() -> None:
    bad = make_record("a..b")

    pairing = pair_zone(bad, make_record("www.example.org"))

    assert [(record.endpoint.dns_name, record.state) for record in pairing.records] == [
        ("a..b", OwnershipState.UNKNOWN),
        ("www.example.org", OwnershipState.UNMANAGED),
    ]


def test_several_endpoints_of_one_record_set_are_one_with_all_their_targets() -> None:
    first = msgspec.structs.replace(make_record("www.example.org"), targets=("192.0.2.9",))
    second = make_record("WWW.example.org")

    pairing = pair_zone(first, second, make_txt("a-www.example.org", BLUE))

    (record,) = pairing.records
    assert (record.owner_id, record.endpoint.targets) == ("blue-cluster", ("192.0.2.9", "192.0.2.1"))
    assert record.parts == (first, second)


def test_of_several_endpoints_of_one_txt_record_set_each_first_text_is_read() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", "v=spf1 -all"),
        make_txt("a-www.example.org", BLUE),
    )

    (claim,) = pairing.claims
    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert claim.endpoint.targets == ("v=spf1 -all", BLUE)
    assert [part.targets for part in claim.parts] == [("v=spf1 -all",), (BLUE,)]


def test_of_two_owners_claims_in_two_endpoints_of_one_txt_record_set_the_last_counts() -> None:
    claims = [make_txt("a-www.example.org", BLUE), make_txt("a-www.example.org", GREEN)]

    before = pair_zone(make_record("www.example.org"), *claims)
    after = pair_zone(make_record("www.example.org"), *claims[::-1])

    assert record_at(before, "www.example.org").owner_id == "green-cluster"
    assert record_at(after, "www.example.org").owner_id == "blue-cluster"


def test_more_claims_than_are_allowed_are_all_ignored() -> None:
    crowd = [
        make_txt("a-www.example.org", f"heritage=external-dns,external-dns/owner=o{i}")
        for i in range(MAX_CLAIMS_PER_RECORD_SET + 1)
    ]

    pairing = pair_zone(make_record("www.example.org"), *crowd)

    record = record_at(pairing, "www.example.org")
    assert (record.state, len(record.claims)) == (OwnershipState.UNKNOWN, MAX_CLAIMS_PER_RECORD_SET)
    assert {claim.verdict for claim in pairing.claims} == {ClaimVerdict.UNREADABLE}


def test_a_provider_that_says_nothing_has_nothing() -> None:
    pairing = pair_zone()

    assert (pairing.records, pairing.claims) == ((), ())


def test_a_txt_without_targets_is_an_ordinary_record() -> None:
    pairing = pair_zone(Endpoint(dns_name="www.example.org", record_type="txt"))

    assert record_at(pairing, "www.example.org", "TXT").state is OwnershipState.UNMANAGED
