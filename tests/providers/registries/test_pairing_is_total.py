"""Any zone can be paired, and no order shows in the result."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.providers.registries.zone import BLUE, GREEN, KEY, OTHER_KEY

PROFILES = [
    DEFAULT_PROFILE,
    TxtProfile(reference="1", prefix="extdns."),
    TxtProfile(reference="2", prefix="%{record_type}-x.", encryption_key=KEY),
    TxtProfile(reference="3", suffix="-.%{record_type}"),
    TxtProfile(reference="4", wildcard_replacement="any"),
    TxtProfile(reference="5", encryption_key=OTHER_KEY),
]
_FIRST_LABEL = st.sampled_from(["www", "any", "*", "a-www", "WWW", "münchen", "extdns", "-", ""])
_NAME = st.builds(
    lambda prefix, first, suffix: f"{prefix}{first}{suffix}.example.org",
    st.sampled_from(["", "a-", "aaaa-", "cname-", "txt-", "extdns.", "extdns.a-", "a-x.", "-x."]),
    _FIRST_LABEL,
    st.sampled_from(["", "-.a", "-."]),
)
_TARGET = st.sampled_from(
    [
        BLUE,
        GREEN,
        "heritage=external-dns",
        "v=spf1 -all",
        "192.0.2.1",
        encrypt_labels_text(BLUE.strip('"'), KEY),
        encrypt_labels_text(GREEN.strip('"'), OTHER_KEY),
        encrypt_labels_text(GREEN.strip('"'), bytes(32)),
    ]
)
_ENDPOINT = st.builds(
    Endpoint,
    dns_name=_NAME,
    targets=st.lists(_TARGET, max_size=3).map(tuple),
    record_type=st.sampled_from(["A", "AAAA", "CNAME", "TXT", "TXT", "TXT", "txt"]),
    set_identifier=st.sampled_from(["", "", "eu"]),
    record_ttl=st.sampled_from([0, 300]),
    labels=st.sampled_from([{}, {"ownedRecord": "www.example.org", "x": "y"}]),
    provider_specific=st.sampled_from([(), (ProviderSpecificProperty("alias", "true"),)]),
)
_ODD_ENDPOINT = st.builds(
    Endpoint,
    dns_name=st.text(),
    targets=st.lists(st.text() | _TARGET, max_size=3).map(tuple),
    record_type=st.text() | st.just("TXT"),
    set_identifier=st.text(),
)


def claim_target() -> st.SearchStrategy[str]:
    """Claims of two owners in every form, and what is none."""
    return _TARGET


def any_endpoint() -> st.SearchStrategy[Endpoint]:
    """Endpoints at few names that many profiles read in many ways, and some that are odd."""
    return _ENDPOINT | _ODD_ENDPOINT


@settings(deadline=None)
@given(st.data(), st.lists(_ENDPOINT, max_size=12), st.lists(st.sampled_from(PROFILES), max_size=6))
def test_order_does_not_matter(
    data: st.DataObject, endpoints: list[Endpoint], profiles: list[TxtProfile]
) -> None:
    shuffled = data.draw(st.permutations(endpoints))
    turned = data.draw(st.permutations(profiles))

    assert pair(shuffled, turned) == pair(endpoints, profiles)


@settings(deadline=None)
@given(st.lists(_ENDPOINT | _ODD_ENDPOINT, max_size=12), st.lists(st.sampled_from(PROFILES), max_size=6))
def test_every_endpoint_is_accounted_for(endpoints: list[Endpoint], profiles: list[TxtProfile]) -> None:
    pairing = pair(endpoints, profiles)

    paired = [record.endpoint for record in pairing.records] + [claim.endpoint for claim in pairing.claims]
    assert {id(endpoint) for endpoint in paired} == {id(endpoint) for endpoint in endpoints}
    assert len(pairing.records) <= len(endpoints)


@settings(deadline=None)
@given(st.lists(_ENDPOINT, max_size=12), st.lists(st.sampled_from(PROFILES), max_size=6))
def test_states_and_verdicts_agree(endpoints: list[Endpoint], profiles: list[TxtProfile]) -> None:
    pairing = pair(endpoints, profiles)

    spoken_for = {number for record in pairing.records for number in record.claims}
    for record in pairing.records:
        claims = [pairing.claims[number] for number in record.claims]
        owners = {claim.owner_id for claim in claims} - {""}
        assert (record.state is OwnershipState.OWNED) == (len(owners) == 1)
        assert (record.state is OwnershipState.CONFLICT) == (len(owners) > 1)
        assert (record.effective_claim is None) == (record.state is not OwnershipState.OWNED)
        assert record.owner_id == (owners.pop() if record.state is OwnershipState.OWNED else "")
        if record.effective_claim is not None:
            assert record.effective_claim == record.claims[0]
            assert claims[0].verdict in {ClaimVerdict.EFFECTIVE, ClaimVerdict.CONFLICTING}
    for number, claim in enumerate(pairing.claims):
        assert (claim.verdict is ClaimVerdict.UNREADABLE) <= (claim.problem != "")
        assert (claim.verdict is ClaimVerdict.ORPHAN) <= (number not in spoken_for)
