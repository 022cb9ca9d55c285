"""What a transfer writes: the TXT endpoint as read, but for the one thing that changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from providers.registries.claim import DEFAULT_PROFILE, Claim, TxtProfile
from providers.registries.encryption import decrypt_labels_text, encrypt_labels_text
from providers.registries.errors import (
    ForeignText,
    TxtNameTooLong,
    UnclaimableRecord,
    UndecryptableClaim,
    UnwritableLabel,
)
from providers.registries.txt_changes import build_new_claim, build_reowned_claim, without_claim
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.providers.registries.zone import (
    BLUE,
    GREEN,
    KEY,
    OTHER_KEY,
    make_record,
    make_txt,
    pair_zone,
    record_at,
)

_SECRET = TxtProfile(reference="secret", encryption_key=KEY)


def _claim_of(txt: Endpoint, profile: TxtProfile = DEFAULT_PROFILE, raw: str = BLUE) -> Claim:
    pairing = pair_zone(make_record("www.example.org"), txt, profiles=[profile])
    (claim,) = [claim for claim in pairing.claims if claim.raw == raw]
    return claim


def test_a_new_owner_changes_nothing_but_the_owner() -> None:
    txt = Endpoint(
        dns_name="A-WWW.example.org.",
        targets=("v=spf1 -all", BLUE),
        record_type="TXT",
        record_ttl=120,
        labels={"ownedRecord": "www.example.org"},
        provider_specific=(ProviderSpecificProperty("zone", "1"),),
    )

    reowned = build_reowned_claim(_claim_of(txt), "green-cluster")

    assert reowned == replace(txt, targets=("v=spf1 -all", GREEN))


def test_an_encrypted_claim_is_encrypted_again_under_a_fresh_nonce() -> None:
    sealed = f'"{encrypt_labels_text(BLUE.strip(chr(34)), KEY)}"'
    claim = _claim_of(make_txt("a-www.example.org", sealed), _SECRET, sealed)

    reowned = build_reowned_claim(claim, "green-cluster")

    old, new = decrypt_labels_text(sealed, KEY), decrypt_labels_text(reowned.targets[0], KEY)
    assert old is not None
    assert new is not None
    assert new.plain == GREEN.strip('"')
    assert new.nonce != old.nonce
    assert reowned.targets[0].startswith('"')


@pytest.mark.parametrize("key", [None, OTHER_KEY])
def test_it_leaves_alone_what_it_cannot_open(key: bytes | None) -> None:
    sealed = encrypt_labels_text(BLUE.strip('"'), KEY)
    profile = TxtProfile(encryption_key=key)
    claim = _claim_of(make_txt("a-www.example.org", sealed), profile, sealed)

    with pytest.raises(UndecryptableClaim, match=r"a-www\.example\.org"):
        build_reowned_claim(claim, "green-cluster")


def test_a_claim_the_new_owner_already_has_there_is_not_written_twice() -> None:
    reowned = build_reowned_claim(_claim_of(make_txt("a-www.example.org", BLUE, GREEN)), "green-cluster")

    assert reowned.targets == (GREEN,)


def test_it_refuses_an_owner_that_a_claim_cannot_name() -> None:
    claim = _claim_of(make_txt("a-www.example.org", BLUE))

    with pytest.raises(UnwritableLabel):
        build_reowned_claim(claim, "green,cluster")


def test_a_claim_without_heritage_has_no_owner_to_replace() -> None:
    claim = replace(_claim_of(make_txt("a-www.example.org", BLUE)), raw="v=spf1 -all")

    with pytest.raises(ForeignText):
        build_reowned_claim(claim, "green-cluster")


@settings(deadline=None)
@given(st.lists(st.sampled_from([f"external-dns/k{i}=v" for i in range(5)] + ["odd", "=", ""]), max_size=6))
def test_undoing_a_change_of_owner_gives_back_the_bytes(tokens: list[str]) -> None:
    raw = ",".join(["heritage=external-dns", *tokens, "external-dns/owner=blue-cluster", *tokens])
    txt = make_txt("a-www.example.org", raw)

    there = build_reowned_claim(_claim_of(txt, raw=raw), "green-cluster")
    back = build_reowned_claim(_claim_of(there, raw=there.targets[0]), "blue-cluster")

    assert there != txt
    assert back == txt


def test_a_first_claim_is_what_external_dns_would_write() -> None:
    record = Endpoint(
        dns_name="www.example.org",
        targets=("192.0.2.1",),
        record_type="A",
        set_identifier="eu",
        record_ttl=300,
        provider_specific=(ProviderSpecificProperty("aws/weight", "10"),),
    )

    claim = build_new_claim(record, "blue-cluster", DEFAULT_PROFILE, resource="ingress/shop/web")

    assert claim == Endpoint(
        dns_name="a-www.example.org",
        targets=(BLUE,),
        record_type="TXT",
        set_identifier="eu",
        labels={"ownedRecord": "www.example.org"},
        provider_specific=(ProviderSpecificProperty("aws/weight", "10"),),
    )


def test_a_claim_without_resource_names_only_its_owner() -> None:
    claim = build_new_claim(make_record("www.example.org"), "blue-cluster", DEFAULT_PROFILE)

    assert claim.targets == ('"heritage=external-dns,external-dns/owner=blue-cluster"',)


def test_a_claim_in_another_format_keeps_the_ttl_and_labels_of_the_old_one() -> None:
    record = make_record("*.example.org")
    old = replace(make_txt("any.example.org", BLUE), record_ttl=77, labels={"x": "y"})
    profile = TxtProfile(prefix="extdns.", wildcard_replacement="any")

    claim = build_new_claim(record, "blue-cluster", profile, extra_labels={"dualstack": "true"}, like=old)

    assert claim == Endpoint(
        dns_name="extdns.a-any.example.org",
        targets=('"heritage=external-dns,external-dns/dualstack=true,external-dns/owner=blue-cluster"',),
        record_type="TXT",
        record_ttl=77,
        labels={"x": "y"},
    )


def test_an_encrypted_profile_gets_an_encrypted_claim() -> None:
    record = make_record("www.example.org")

    claim = build_new_claim(record, "blue-cluster", _SECRET, resource="ingress/shop/web")

    assert "heritage" not in claim.targets[0]
    pairing = pair_zone(record, claim, profiles=[_SECRET])
    assert record_at(pairing, "www.example.org").owner_id == "blue-cluster"


def test_a_claim_whose_name_cannot_exist_is_refused() -> None:
    with pytest.raises(TxtNameTooLong):
        build_new_claim(make_record(f"{'x' * 63}.example.org"), "blue-cluster", DEFAULT_PROFILE)


@pytest.mark.parametrize(
    ("record_type", "profile"),
    [("CAA", DEFAULT_PROFILE), ("AAAA", TxtProfile(prefix="%{record_type}"))],
)
def test_a_claim_that_would_speak_for_another_record_is_refused(
    record_type: str, profile: TxtProfile
) -> None:
    with pytest.raises(UnclaimableRecord, match="cannot be owned"):
        build_new_claim(make_record("www.example.org", record_type), "blue-cluster", profile)


@settings(deadline=None)
@given(
    record=st.builds(
        make_record,
        st.sampled_from(["www.example.org", "*.example.org", "example.org", "a-b.example.org"]),
        st.sampled_from(["A", "AAAA", "CNAME", "TXT", "MX"]),
        set_identifier=st.sampled_from(["", "eu"]),
    ),
    profile=st.sampled_from(
        [
            DEFAULT_PROFILE,
            _SECRET,
            TxtProfile(prefix="extdns.", wildcard_replacement="any"),
            TxtProfile(prefix="%{record_type}-x."),
            TxtProfile(suffix="-.%{record_type}", encryption_key=OTHER_KEY),
        ]
    ),
)
def test_every_claim_we_write_owns_its_record(record: Endpoint, profile: TxtProfile) -> None:
    claim = build_new_claim(record, "blue-cluster", profile)

    pairing = pair_zone(record, claim, profiles=[profile])

    (paired,) = pairing.records
    assert (paired.endpoint, paired.owner_id) == (record, "blue-cluster")


def test_a_removed_claim_leaves_what_stands_beside_it() -> None:
    txt = make_txt("www.example.org", "v=spf1 -all", BLUE)

    assert without_claim(_claim_of(txt)) == replace(txt, targets=("v=spf1 -all",))


def test_nothing_is_left_of_a_txt_that_held_only_the_claim() -> None:
    assert without_claim(_claim_of(make_txt("a-www.example.org", BLUE))) is None
