"""Whatever stands there and whatever is wanted: what a plan must never do, and what it always comes to."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import TxtProfile
from providers.registries.pairing import pair
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.depth import examples
from tests.providers.planning.planned import BLUE, GREEN, apply, plan, wanted
from tests.reference_server import make_claim, make_record

_TARGETS = {
    "A": ("192.0.2.1", "192.0.2.2"),
    "AAAA": ("2001:db8::1", "2001:db8::2"),
    "CNAME": ("one.example.net", "two.example.net"),
}
_NAMES = [f"n{number}.example.org" for number in range(4)]
_TYPES = sorted(_TARGETS)


def _standing(name: str, record_type: str, target: int, owner: str | None) -> list[Endpoint]:
    record = make_record(name, record_type, (_TARGETS[record_type][target],))
    return [record] if owner is None else [record, make_claim(name, record_type, owner)]


@st.composite
def _zones(draw: st.DrawFn) -> list[Endpoint]:
    """Valid zones: one CNAME alone, or addresses, at each name; each of blue, green or nobody."""
    zone: list[Endpoint] = []
    for name in _NAMES:
        types = draw(st.sampled_from([(), ("A",), ("AAAA",), ("A", "AAAA"), ("CNAME",)]))
        for record_type in types:
            owner = draw(st.sampled_from([BLUE, BLUE, GREEN, None]))
            zone += _standing(name, record_type, draw(st.integers(0, 1)), owner)
    return zone


_WANTED = st.lists(
    st.builds(
        lambda name, record_type, target, ttl: wanted(
            name, record_type, [_TARGETS[record_type][target]], ttl=ttl
        ),
        st.sampled_from(_NAMES),
        st.sampled_from(_TYPES),
        st.integers(0, 1),
        st.sampled_from([0, 300, 60]),
    ),
    max_size=6,
)


def _by_key(zone: list[Endpoint]) -> dict[EndpointKey, Endpoint]:
    return {endpoint_key(each): each for each in zone}


@settings(max_examples=examples(3_000), deadline=None)
@given(_zones(), _WANTED)
def test_nothing_that_is_not_ours_is_ever_touched(zone: list[Endpoint], desired: list[Endpoint]) -> None:
    ours = {record.key for record in pair(zone, [TxtProfile()]).records if record.owner_id == BLUE}
    claims = {endpoint_key(each) for each in zone if each.record_type == "TXT" and BLUE in each.targets[0]}
    before = _by_key(zone)

    after = _by_key(apply(zone, desired))

    foreign = before.keys() - ours - claims
    assert {key: after.get(key) for key in foreign} == {key: before[key] for key in foreign}


@settings(max_examples=examples(1_000), deadline=None)
@given(_zones(), _WANTED)
def test_the_second_loop_has_nothing_to_do(zone: list[Endpoint], desired: list[Endpoint]) -> None:
    once = apply(zone, desired)

    assert plan(once, desired).is_empty()


@settings(max_examples=examples(500), deadline=None)
@given(_zones(), _WANTED, st.randoms(use_true_random=False))
def test_the_order_of_what_is_said_does_not_matter(
    zone: list[Endpoint], desired: list[Endpoint], chance: object
) -> None:
    shuffled_zone, shuffled = list(zone), list(desired)
    chance.shuffle(shuffled_zone)  # type: ignore[attr-defined]  # random.Random
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert _by_key(apply(zone, desired)) == _by_key(apply(shuffled_zone, shuffled))


@settings(max_examples=examples(500), deadline=None)
@given(_zones(), _WANTED)
def test_two_owners_who_want_the_same_never_fight(zone: list[Endpoint], desired: list[Endpoint]) -> None:
    blue = apply(zone, desired)
    both = apply(blue, desired, owner_id=GREEN)

    assert plan(both, desired).is_empty()
    assert plan(both, desired, owner_id=GREEN).is_empty()
