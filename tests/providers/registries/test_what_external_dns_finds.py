"""The owner of a record set is the one that ExternalDNS finds; claims that it does not obey are listed."""

from collections import defaultdict

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.claim_reading import list_tried
from providers.registries.pairing import pair
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.external_dns.reading import read_owners
from tests.providers.registries.test_pairing_is_total import PROFILES, any_endpoint
from tests.providers.registries.zone import BLUE, GREEN, make_record, make_txt

_A = make_record("www.example.org")
_ALIAS = make_record("www.example.org", is_alias=True)
_ANY = TxtProfile(reference="any", wildcard_replacement="any")
_PREFIXED = TxtProfile(reference="prefixed", prefix="x.")
_NOBODY: list[str | None] = [""]
_BLUES: list[str | None] = ["blue-cluster"]

# What it is, the zone, the profiles, whom each of them finds for the first endpoint, our state, what the last
# claim amounts to. Each line was tried with the TXT registry of ExternalDNS v0.22.0.
_TABLE: list[tuple[str, list[Endpoint], list[TxtProfile], list[str | None], OwnershipState, ClaimVerdict]] = [
    (
        "a legacy claim of another beside a new one",
        [_A, make_txt("a-www.example.org", BLUE), make_txt("www.example.org", GREEN)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.OVERRULED,
    ),
    (
        "a cname- claim of another beside the a- claim of an alias",
        [_ALIAS, make_txt("a-www.example.org", BLUE), make_txt("cname-www.example.org", GREEN)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.OVERRULED,
    ),
    (
        "two heritage texts in one TXT record set",
        [_A, make_txt("a-www.example.org", BLUE, GREEN)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.OVERRULED,
    ),
    (
        "a heritage text that is not the first target",
        [_A, make_txt("a-www.example.org", "v=spf1 -all", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a name in upper case from the provider",
        [make_record("WWW.example.org"), make_txt("a-www.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a type in lower case from the provider",
        [make_record("www.example.org", "a"), make_txt("a-www.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "the type of the claim in lower case from the provider",
        [_A, msgspec.structs.replace(make_txt("a-www.example.org", BLUE), record_type="txt")],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a claim at a-* under a wildcard replacement",
        [make_record("*.example.org"), make_txt("a-*.example.org", BLUE)],
        [_ANY],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a claim at a-* where one profile replaces the wildcard and one does not",
        [make_record("*.example.org"), make_txt("a-*.example.org", BLUE)],
        [DEFAULT_PROFILE, _ANY],
        ["blue-cluster", ""],
        OwnershipState.OWNED,
        ClaimVerdict.EFFECTIVE,
    ),
    (
        "a trailing dot on the claim only",
        [_A, make_txt("a-www.example.org.", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a trailing dot on both",
        [make_record("www.example.org."), make_txt("a-www.example.org.", BLUE)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.EFFECTIVE,
    ),
    (
        "a name beyond ASCII that only the record set has in its DNS form",
        [make_record("xn--mnchen-3ya.example.org"), make_txt("a-münchen.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.IGNORED,
    ),
    (
        "a NAPTR record set with a claim of its type",
        [make_record("www.example.org", "NAPTR"), make_txt("naptr-www.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.EFFECTIVE,
    ),
    (
        "a CAA record set, whose type no claim can name",
        [make_record("www.example.org", "CAA"), make_txt("caa-www.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _NOBODY,
        OwnershipState.UNMANAGED,
        ClaimVerdict.ORPHAN,
    ),
    (
        "claims of two owners under two profiles",
        [_A, make_txt("a-www.example.org", BLUE), make_txt("x.a-www.example.org", GREEN)],
        [DEFAULT_PROFILE, _PREFIXED],
        ["blue-cluster", "green-cluster"],
        OwnershipState.CONFLICT,
        ClaimVerdict.CONFLICTING,
    ),
    (
        "a third claim that disagrees with two that agree",
        [
            _A,
            make_txt("a-www.example.org", BLUE),
            make_txt("www.example.org", BLUE),
            make_txt("x.a-www.example.org", GREEN),
        ],
        [DEFAULT_PROFILE, _PREFIXED],
        ["blue-cluster", "green-cluster"],
        OwnershipState.CONFLICT,
        ClaimVerdict.CONFLICTING,
    ),
    (
        "a legacy claim of another behind two claims that agree",
        [
            _A,
            make_txt("a-www.example.org", BLUE),
            make_txt("x.a-www.example.org", BLUE),
            make_txt("www.example.org", GREEN),
        ],
        [DEFAULT_PROFILE, _PREFIXED],
        ["blue-cluster", "blue-cluster"],
        OwnershipState.OWNED,
        ClaimVerdict.OVERRULED,
    ),
    (
        "the label of the provider beside no claim at all",
        [msgspec.structs.replace(_A, labels={"owner": "blue-cluster"}), make_txt("a-api.example.org", GREEN)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.ORPHAN,
    ),
    (
        "the label of the provider beside a claim",
        [msgspec.structs.replace(_A, labels={"owner": "green-cluster"}), make_txt("a-www.example.org", BLUE)],
        [DEFAULT_PROFILE],
        _BLUES,
        OwnershipState.OWNED,
        ClaimVerdict.EFFECTIVE,
    ),
    (
        "the label of the provider beside a claim that another profile reads",
        [
            msgspec.structs.replace(_A, labels={"owner": "green-cluster"}),
            make_txt("x.a-www.example.org", BLUE),
        ],
        [DEFAULT_PROFILE, _PREFIXED],
        ["green-cluster", "blue-cluster"],
        OwnershipState.CONFLICT,
        ClaimVerdict.CONFLICTING,
    ),
]


def test_the_owner_is_who_external_dns_takes_for_it() -> None:
    for what, zone, profiles, found, state, verdict in _TABLE:
        pairing = pair(zone, profiles)

        record = next(each for each in pairing.records if each.key == endpoint_key(zone[0]))
        last = next(claim for claim in pairing.claims if claim.raw == zone[-1].targets[-1])
        last = next((c for c in pairing.claims if c.endpoint is zone[-1] and c.raw == last.raw), last)
        assert [read_owners(zone, profile)[0] for profile in profiles] == found, what
        assert (record.state, last.verdict) == (state, verdict), what
        assert record.owner_id == ("blue-cluster" if state is OwnershipState.OWNED else ""), what
        if verdict in {ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED}:
            assert last.problem, what


@settings(deadline=None)
@given(st.lists(any_endpoint(), max_size=12), st.lists(st.sampled_from(PROFILES), max_size=4))
def test_any_zone_is_owned_as_external_dns_reads_it(zone: list[Endpoint], profiles: list[TxtProfile]) -> None:
    found: dict[EndpointKey, set[str]] = defaultdict(set)
    for profile in list_tried(profiles):
        for endpoint, owner_id in zip(zone, read_owners(zone, profile), strict=True):
            if owner_id and (key := _key_of(endpoint)) is not None:
                found[key].add(owner_id)

    for record in pair(zone, profiles).records:
        if _key_of(record.endpoint) is None:
            assert record.state is OwnershipState.UNKNOWN
            continue
        owners = found[record.key]
        assert (record.state is OwnershipState.CONFLICT) == (len(owners) > 1)
        assert (record.state is OwnershipState.OWNED) == (len(owners) == 1)
        assert record.owner_id == (next(iter(owners)) if len(owners) == 1 else "")
        assert {belief.owner_id for belief in record.beliefs} in (set(), owners)


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None
