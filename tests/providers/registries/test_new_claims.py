"""The claim that is written for a record set."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.errors import TxtNameTooLong, UnclaimableRecord
from providers.registries.new_claim import build_new_claim
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.providers.registries.zone import (
    BLUE,
    KEY,
    OTHER_KEY,
    make_record,
    make_txt,
    pair_zone,
    record_at,
)

_SECRET = TxtProfile(reference="secret", encryption_key=KEY)


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
