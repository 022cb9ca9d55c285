"""Several instances, several ways to write a claim, one zone."""

import pytest

from providers.registries.claim import DEFAULT_PROFILE, ClaimFormat, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.encryption import encrypt_labels_text
from tests.providers.registries.zone import (
    BLUE,
    GREEN,
    KEY,
    OTHER_KEY,
    claim_at,
    make_record,
    make_txt,
    pair_zone,
    record_at,
)

_PREFIXED = TxtProfile(reference="prefixed", prefix="extdns.")
_SECRET = TxtProfile(reference="secret", encryption_key=KEY)
_WILDCARD = TxtProfile(reference="wildcard", wildcard_replacement="any")


def test_each_instance_reads_its_own_claims() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_record("api.example.org"),
        make_txt("a-www.example.org", BLUE),
        make_txt("extdns.a-api.example.org", GREEN),
        profiles=[DEFAULT_PROFILE, _PREFIXED],
    )

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert record_at(pairing, "api.example.org").owner_id == "green-cluster"
    assert claim_at(pairing, "a-www.example.org").profile == DEFAULT_PROFILE
    assert claim_at(pairing, "extdns.a-api.example.org").profile == _PREFIXED


def test_the_reading_that_points_to_a_record_wins() -> None:
    pairing = pair_zone(
        make_record("extdns.a-www.example.org"),
        make_txt("extdns.a-www.example.org", BLUE),
        profiles=[DEFAULT_PROFILE, _PREFIXED],
    )

    (claim,) = pairing.claims
    assert (claim.record_name, claim.format) == ("extdns.a-www.example.org", ClaimFormat.LEGACY)
    assert claim.verdict is ClaimVerdict.EFFECTIVE


def test_a_claim_that_two_profiles_read_in_two_ways_owns_both_and_is_shown_in_the_new_format() -> None:
    pairing = pair_zone(
        make_record("extdns.a-www.example.org"),
        make_record("www.example.org"),
        make_txt("extdns.a-www.example.org", BLUE),
        profiles=[DEFAULT_PROFILE, _PREFIXED],
    )

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert record_at(pairing, "extdns.a-www.example.org").owner_id == "blue-cluster"
    assert pairing.claims[0].record_name == "www.example.org"


def test_the_new_format_wins_over_a_longer_affix() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", BLUE),
        profiles=[DEFAULT_PROFILE, TxtProfile(prefix="a-")],
    )

    assert pairing.claims[0].format is ClaimFormat.NEW


def test_a_registered_reading_wins_over_the_default_nobody_registered() -> None:
    profile = TxtProfile(prefix="a-")

    pairing = pair_zone(make_txt("a-gone.example.org", BLUE), profiles=[profile])

    (claim,) = pairing.claims
    assert (claim.profile, claim.verdict) == (profile, ClaimVerdict.ORPHAN)


def test_a_plain_claim_is_taken_for_the_instance_without_a_key() -> None:
    keyed = TxtProfile(reference="1", encryption_key=KEY)
    plain = TxtProfile(reference="2")

    pairing = pair_zone(make_txt("a-www.example.org", BLUE), profiles=[keyed, plain])

    assert pairing.claims[0].profile == plain


def test_among_orphans_the_more_specific_affix_wins() -> None:
    pairing = pair_zone(make_txt("extdns.www.example.org", BLUE), profiles=[DEFAULT_PROFILE, _PREFIXED])

    (claim,) = pairing.claims
    assert (claim.record_name, claim.profile, claim.verdict) == (
        "www.example.org",
        _PREFIXED,
        ClaimVerdict.ORPHAN,
    )


def test_two_instances_that_claim_one_record_for_two_owners_are_a_conflict() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", BLUE),
        make_txt("extdns.a-www.example.org", GREEN),
        profiles=[DEFAULT_PROFILE, _PREFIXED],
    )

    assert record_at(pairing, "www.example.org").state is OwnershipState.CONFLICT


def test_two_claims_of_one_owner_under_two_profiles_both_count() -> None:
    pairing = pair_zone(
        make_record("www.example.org"),
        make_txt("a-www.example.org", BLUE),
        make_txt("extdns.a-www.example.org", BLUE),
        profiles=[DEFAULT_PROFILE, _PREFIXED],
    )

    assert record_at(pairing, "www.example.org").state is OwnershipState.OWNED
    assert {claim.verdict for claim in pairing.claims} == {ClaimVerdict.EFFECTIVE}


def test_the_default_format_is_read_even_where_it_is_not_registered() -> None:
    pairing = pair_zone(
        make_record("www.example.org"), make_txt("a-www.example.org", BLUE), profiles=[_PREFIXED]
    )

    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert pairing.claims[0].profile == DEFAULT_PROFILE


@pytest.mark.parametrize("txt_name", ["k8s-a-www.example.org", "a-.example.org"])
def test_a_claim_no_profile_fits_is_unreadable_not_an_orphan(txt_name: str) -> None:
    pairing = pair_zone(make_record("www.example.org"), make_txt(txt_name, BLUE), profiles=[_PREFIXED])

    (claim,) = pairing.claims
    assert claim.verdict is ClaimVerdict.UNREADABLE
    assert "No registered profile fits" in claim.problem


def test_a_wildcard_is_found_under_its_replacement() -> None:
    pairing = pair_zone(
        make_record("*.example.org"), make_txt("a-any.example.org", BLUE), profiles=[_WILDCARD]
    )

    assert record_at(pairing, "*.example.org").owner_id == "blue-cluster"
    assert pairing.claims[0].record_name == "*.example.org"


def test_a_claim_under_the_replacement_speaks_for_a_record_of_that_name_too() -> None:
    pairing = pair_zone(
        make_record("*.example.org"),
        make_record("any.example.org"),
        make_txt("a-any.example.org", BLUE),
        profiles=[DEFAULT_PROFILE, _WILDCARD],
    )

    assert record_at(pairing, "*.example.org").owner_id == "blue-cluster"
    assert record_at(pairing, "any.example.org").owner_id == "blue-cluster"


def test_an_encrypted_claim_is_read_with_the_key_of_its_profile() -> None:
    sealed = f'"{encrypt_labels_text(BLUE.strip(chr(34)), KEY)}"'

    pairing = pair_zone(
        make_record("www.example.org"),
        make_record("api.example.org"),
        make_txt("a-www.example.org", sealed),
        make_txt("a-api.example.org", GREEN),
        profiles=[DEFAULT_PROFILE, TxtProfile(reference="other", encryption_key=OTHER_KEY), _SECRET],
    )

    claim = claim_at(pairing, "a-www.example.org")
    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"
    assert (claim.is_encrypted, claim.profile, claim.raw) == (True, _SECRET, sealed)
    assert claim.labels == {"owner": "blue-cluster", "resource": "ingress/shop/web"}
    assert claim_at(pairing, "a-api.example.org").profile == DEFAULT_PROFILE


def test_an_instance_with_a_key_still_reads_plain_claims() -> None:
    pairing = pair_zone(
        make_record("www.example.org"), make_txt("a-www.example.org", BLUE), profiles=[_SECRET]
    )

    (claim,) = pairing.claims
    assert (claim.owner_id, claim.is_encrypted) == ("blue-cluster", False)


def test_the_key_that_opens_a_claim_tells_its_profile() -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), KEY)
    secret = TxtProfile(reference="secret", encryption_key=KEY)
    longer = TxtProfile(reference="longer", prefix="a-", encryption_key=OTHER_KEY)

    pairing = pair_zone(
        make_record("www.example.org"), make_txt("a-www.example.org", sealed), profiles=[longer, secret]
    )

    assert pairing.claims[0].profile == secret
    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"


@pytest.mark.parametrize("txt_name", ["a-www.example.org", "www.example.org"])
def test_an_encrypted_claim_nobody_can_open_leaves_the_owner_unknown(txt_name: str) -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), OTHER_KEY)

    pairing = pair_zone(
        make_record("www.example.org"), make_txt(txt_name, sealed), profiles=[DEFAULT_PROFILE, _SECRET]
    )

    (claim,) = pairing.claims
    assert record_at(pairing, "www.example.org").state is OwnershipState.UNKNOWN
    assert (claim.verdict, claim.is_encrypted) == (ClaimVerdict.UNREADABLE, True)
    assert "no registered profile has a key" in claim.problem


def test_what_looks_encrypted_but_points_nowhere_is_an_ordinary_record() -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), OTHER_KEY)

    pairing = pair_zone(make_txt("token.example.org", sealed), make_txt("txt-token.example.org", GREEN))

    assert record_at(pairing, "token.example.org", "TXT").owner_id == "green-cluster"
    assert [claim.owner_id for claim in pairing.claims] == ["green-cluster"]


def test_several_encrypted_looking_texts_are_one_ordinary_record() -> None:
    first, second = (encrypt_labels_text(BLUE.strip('"'), OTHER_KEY) for _ in range(2))

    pairing = pair_zone(make_txt("token.example.org", first, second))

    assert [record.endpoint.targets for record in pairing.records] == [(first, second)]


def test_a_text_beside_it_does_not_make_an_encrypted_looking_one_a_claim() -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), OTHER_KEY)

    pairing = pair_zone(make_txt("token.example.org", "v=spf1 -all", sealed))

    assert pairing.claims == ()
    assert record_at(pairing, "token.example.org", "TXT").state is OwnershipState.UNMANAGED


@pytest.mark.parametrize(
    ("txt_name", "state"),
    [("a-www.example.org", OwnershipState.UNKNOWN), ("www.example.org", OwnershipState.UNMANAGED)],
)
def test_in_a_format_nobody_registered_only_a_typed_name_makes_it_a_claim(
    txt_name: str, state: OwnershipState
) -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), OTHER_KEY)

    pairing = pair_zone(make_record("www.example.org"), make_txt(txt_name, sealed), profiles=[_PREFIXED])

    assert record_at(pairing, "www.example.org").state is state


def test_what_decrypts_to_no_heritage_is_unreadable() -> None:
    sealed = encrypt_labels_text("this is not a claim at all, and it is long enough to look like one", KEY)

    pairing = pair_zone(
        make_record("www.example.org"), make_txt("a-www.example.org", sealed), profiles=[_SECRET]
    )

    (claim,) = pairing.claims
    assert (claim.verdict, claim.owner_id) == (ClaimVerdict.UNREADABLE, "")
    assert "without heritage" in claim.problem


def test_a_key_never_shows_in_the_text_of_a_value() -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), KEY)

    pairing = pair_zone(
        make_record("www.example.org"), make_txt("a-www.example.org", sealed), profiles=[_SECRET]
    )

    assert repr(KEY)[2:-1] not in repr(pairing)
    assert "encryption_key=<hidden>" in repr(pairing)
