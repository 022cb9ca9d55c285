"""A part of a zone, with all that is linked with it, is paired as it is in the whole zone."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, Pairing, TxtProfile
from providers.registries.linked_names import LinkedNames, NameLinks
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
    whole = pair(zone, profiles)
    known = sorted({record.key.name for record in whole.records if _is_name(record.key.name)})
    known.append("www.example.org")
    names = set(data.draw(st.lists(st.sampled_from(known), max_size=3)))

    part = LinkedNames(profiles).select(zone, names)

    assert _said_at(pair(part, profiles), names) == _said_at(whole, names)


def test_it_is_a_small_part() -> None:
    zone = make_zone(count=1_000)

    part = LinkedNames([DEFAULT_PROFILE]).select(zone, {"app-00005.example.org"})

    assert part == zone[10:12]


def test_a_name_that_is_free_brings_the_claims_that_point_to_it() -> None:
    orphan = make_txt("a-www.example.org", BLUE)

    part = LinkedNames([]).select([make_record("api.example.org"), orphan], {"www.example.org"})

    assert part == [orphan]
    assert pair(part, []).claims[0].verdict is ClaimVerdict.ORPHAN


@pytest.mark.parametrize(
    ("profile", "records", "txt", "name"),
    [
        (TxtProfile(wildcard_replacement="any"), ["*"], "a-any", "*"),
        (TxtProfile(prefix="extdns."), ["münchen"], "extdns.a-münchen", "xn--mnchen-3ya"),
        # One TXT name, two readings: which is meant depends on what stands at the other name.
        (TxtProfile(prefix="%{record_type}-x."), ["www", "x.www"], "a-x.www", "x.www"),
    ],
)
def test_every_name_that_a_claim_may_mean_is_near_it(
    profile: TxtProfile, records: list[str], txt: str, name: str
) -> None:
    zone = [make_record(f"{each}.example.org") for each in records] + [make_txt(f"{txt}.example.org", BLUE)]
    names = {f"{name}.example.org"}

    part = LinkedNames([profile]).select(zone, names)

    assert part == zone
    assert _said_at(pair(part, [profile]), names) == _said_at(pair(zone, [profile]), names)


def test_a_later_reading_is_judged_by_what_stands_then() -> None:
    linked_names = LinkedNames([DEFAULT_PROFILE])
    record, claim = make_record("www.example.org"), make_txt("a-www.example.org", BLUE)
    linked_names.select([record, claim], {"www.example.org"})

    part = linked_names.select([msgspec.structs.replace(record, targets=("192.0.2.9",))], {"www.example.org"})

    assert [each.targets for each in part] == [("192.0.2.9",)]


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
