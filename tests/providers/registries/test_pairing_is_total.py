"""Any zone can be paired, and no order shows in the result."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.pairing import pair
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from tests.external_dns.reading import read_name
from tests.providers.registries.zone import BLUE, GREEN, KEY, OTHER_KEY

PROFILES = [
    DEFAULT_PROFILE,
    TxtProfile(reference="1", prefix="extdns."),
    TxtProfile(reference="2", prefix="%{record_type}-x.", encryption_key=KEY),
    TxtProfile(reference="3", suffix="-.%{record_type}"),
    TxtProfile(reference="4", wildcard_replacement="any"),
    TxtProfile(reference="5", encryption_key=OTHER_KEY),
]
_WITH_A_REASON = {ClaimVerdict.UNREADABLE, ClaimVerdict.IGNORED, ClaimVerdict.OVERRULED, ClaimVerdict.ORPHAN}
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
    labels=st.sampled_from([{}, {}, {"ownedRecord": "www.example.org", "x": "y"}, {"owner": "red-cluster"}]),
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
def test_order_does_not_matter_where_no_two_endpoints_are_read_for_one_place(
    data: st.DataObject, endpoints: list[Endpoint], profiles: list[TxtProfile]
) -> None:
    apart = _keep_apart(endpoints)
    shuffled = data.draw(st.permutations(apart))
    turned = data.draw(st.permutations(profiles))

    assert pair(shuffled, turned) == pair(apart, profiles)


@settings(deadline=None)
@given(st.lists(_ENDPOINT | _ODD_ENDPOINT, max_size=12), st.lists(st.sampled_from(PROFILES), max_size=6))
def test_every_target_is_accounted_for(endpoints: list[Endpoint], profiles: list[TxtProfile]) -> None:
    pairing = pair(endpoints, profiles)

    paired = [record.endpoint for record in pairing.records] + [claim.endpoint for claim in pairing.claims]
    assert {each for endpoint in paired for each in endpoint.targets} == {
        each for endpoint in endpoints for each in endpoint.targets
    }
    assert len(pairing.records) <= len(endpoints)
    named = [record.key for record in pairing.records if _key_of(record.endpoint) is not None]
    assert len(named) == len(set(named))


@settings(deadline=None)
@given(st.lists(_ENDPOINT, max_size=12), st.lists(st.sampled_from(PROFILES), max_size=6))
def test_states_and_verdicts_agree(endpoints: list[Endpoint], profiles: list[TxtProfile]) -> None:
    pairing = pair(endpoints, profiles)

    spoken_for = {number for record in pairing.records for number in record.claims}
    for record in pairing.records:
        verdicts = [pairing.claims[number].verdict for number in record.claims]
        found = {belief.owner_id for belief in record.beliefs}
        assert (record.owner_id != "") == (record.state is OwnershipState.OWNED)
        assert (record.state is OwnershipState.CONFLICT) == (len(found) > 1)
        if record.effective_claim is not None:
            effective = pairing.claims[record.effective_claim]
            assert record.state is OwnershipState.OWNED
            assert (record.effective_claim, record.owner_id) == (record.claims[0], effective.owner_id)
            assert verdicts[0] in {ClaimVerdict.EFFECTIVE, ClaimVerdict.CONFLICTING}
        elif record.state is OwnershipState.OWNED:
            assert {belief.claim for belief in record.beliefs} == {None}
        if ClaimVerdict.IGNORED in verdicts or ClaimVerdict.OVERRULED in verdicts:
            assert record.beliefs or record.state in {OwnershipState.UNMANAGED, OwnershipState.UNKNOWN}
    for number, claim in enumerate(pairing.claims):
        assert (claim.verdict in _WITH_A_REASON) <= (claim.problem != "")
        assert (claim.verdict is ClaimVerdict.ORPHAN) <= (number not in spoken_for)


def _keep_apart(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Without those that share an identity, or a place under some profile, with one before them."""
    kept: list[Endpoint] = []
    taken: set[tuple[object, ...]] = set()
    for endpoint in endpoints:
        places: set[tuple[object, ...]] = {("key", _key_of(endpoint))}
        if endpoint.record_type == "TXT":
            for number, profile in enumerate(PROFILES):
                places.add((number, *read_name(endpoint.dns_name, profile), endpoint.set_identifier))
        if taken.isdisjoint(places):
            kept.append(endpoint)
            taken |= places
    return kept


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None
