"""A part of a zone, with all that is linked with it, is paired as it is in the whole zone."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, Pairing, TxtProfile
from providers.registries.linked_names import NameLinks
from providers.registries.pairing import pair
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint
from tests.depth import examples
from tests.providers.registries.test_pairing_is_total import PROFILES, any_endpoint, claim_target
from tests.providers.registries.zone import BLUE, make_record, make_txt
from tests.reference_server import make_zone

# Few names, so that most of them have to do with each other.
_NAMES = [
    *("www", "any", "*", "a-www", "a-any", "a-a-www", "txt-a-www", "txt-txt-a-www", "cname-www"),
    *("extdns.www", "extdns.a-www", "a-x.www", "x.www", "www-.a", "münchen", "a-münchen", "xn--mnchen-3ya"),
]
_ENDPOINT = st.builds(
    Endpoint,
    dns_name=st.sampled_from(_NAMES).map("{}.example.org".format),
    targets=st.lists(claim_target(), min_size=1, max_size=2).map(tuple),
    record_type=st.sampled_from(["A", "CNAME", "TXT", "TXT", "TXT"]),
)


def _said_at(pairing: Pairing, names: set[str]) -> list[tuple[object, ...]]:
    """All that is said of the record sets at these names, with their claims instead of their numbers."""
    return [
        (
            record.key,
            record.endpoint,
            record.state,
            record.owner_id,
            [pairing.claims[number] for number in record.claims],
            record.effective_claim is not None and pairing.claims[record.effective_claim],
        )
        for record in pairing.records
        if record.key.name in names
    ]


def _select(zone: Sequence[Endpoint], profiles: Sequence[TxtProfile], names: set[str]) -> list[Endpoint]:
    """What stands at names, and all that is linked with it."""
    existing = {_canonical(each.dns_name) for each in zone}
    reached = NameLinks(profiles).reach(names, existing.__contains__, limit=10_000)
    assert reached is not None
    return [each for each in zone if _canonical(each.dns_name) in reached]


def _canonical(text: str) -> str:
    try:
        return canonical_name(text)
    except InvalidName:
        return ""


def _may_be_linked(zone: Sequence[Endpoint], profiles: Sequence[TxtProfile]) -> bool:
    """Names tell nothing of a TXT name that is spelled beyond ASCII, nor under a prefix and a suffix."""
    has_both = any(profile.prefix and profile.suffix for profile in profiles)
    return not has_both and all(each.dns_name.isascii() for each in zone if each.record_type.upper() == "TXT")


def _is_name(text: str) -> bool:
    try:
        return canonical_name(text) == text
    except InvalidName:
        return False


@settings(deadline=None, max_examples=examples(700))
@given(
    st.lists(_ENDPOINT, max_size=10) | st.lists(any_endpoint(), max_size=10),
    st.lists(st.sampled_from(PROFILES), max_size=3),
    st.data(),
)
def test_whoever_owns_a_record_set_in_the_zone_owns_it_in_the_part(
    zone: list[Endpoint], profiles: Sequence[TxtProfile], data: st.DataObject
) -> None:
    assume(_may_be_linked(zone, profiles))
    whole = pair(zone, profiles)
    known = sorted({record.key.name for record in whole.records if _is_name(record.key.name)})
    known.append("www.example.org")
    names = set(data.draw(st.lists(st.sampled_from(known), max_size=3)))

    part = _select(zone, profiles, names)

    assert _said_at(pair(part, profiles), names) == _said_at(whole, names)


def test_it_is_a_small_part() -> None:
    zone = make_zone(count=1_000)

    part = _select(zone, [DEFAULT_PROFILE], {"app-00005.example.org"})

    assert part == zone[10:12]


def test_a_name_that_is_free_brings_the_claims_that_point_to_it() -> None:
    orphan = make_txt("a-www.example.org", BLUE)

    part = _select([make_record("api.example.org"), orphan], [], {"www.example.org"})

    assert part == [orphan]
    assert pair(part, []).claims[0].verdict is ClaimVerdict.ORPHAN


@pytest.mark.parametrize(
    ("profile", "records", "txt", "name"),
    [
        (TxtProfile(wildcard_replacement="any"), ["*"], "a-any", "*"),
        (TxtProfile(prefix="extdns."), ["münchen"], "extdns.a-xn--mnchen-3ya", "xn--mnchen-3ya"),
        # One TXT name, two readings: which is meant depends on what stands at the other name.
        (TxtProfile(prefix="%{record_type}-x."), ["www", "x.www"], "a-x.www", "x.www"),
    ],
)
def test_every_name_that_a_claim_may_mean_is_near_it(
    profile: TxtProfile, records: list[str], txt: str, name: str
) -> None:
    zone = [make_record(f"{each}.example.org") for each in records] + [make_txt(f"{txt}.example.org", BLUE)]
    names = {f"{name}.example.org"}

    part = _select(zone, [profile], names)

    assert part == zone
    assert _said_at(pair(part, [profile]), names) == _said_at(pair(zone, [profile]), names)


@settings(deadline=None, max_examples=examples(2_000))
@given(
    st.lists(st.sampled_from([*_NAMES, r"\052", r"a-\052", "any-a", "www-a.x"]), min_size=1, max_size=3),
    st.lists(st.sampled_from(PROFILES), max_size=3),
)
def test_every_name_that_may_be_claimed_knows_the_names_that_may_claim_it(
    labels: list[str], profiles: Sequence[TxtProfile]
) -> None:
    txt_name = canonical_name(".".join(labels))
    links = NameLinks(profiles)

    claimed = list(links.list_claimed(txt_name))

    assert [name for name in claimed if txt_name not in set(links.list_claiming(name))] == []
