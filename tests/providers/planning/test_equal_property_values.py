"""Property values that are written otherwise and mean the same: no reason to change anything."""

import pytest

from providers.planning.equal_values import EqualValues, list_questions
from providers.planning.plan import compute_plan
from providers.planning.planned_changes import PlannedChanges
from providers.registries.claim import DEFAULT_PROFILE, Pairing
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, ValuePair
from tests.providers.planning.planned import BLUE, SETTINGS, wanted
from tests.reference_server import make_claim

WWW, MAIL = "www.example.org", "mail.example.org"
TEN = ValuePair("aws/weight", "10", "010")


def _standing(*properties: tuple[str, str], targets: tuple[str, ...] = ("192.0.2.1",)) -> list[Endpoint]:
    return [wanted(WWW, targets=targets, ttl=300, properties=properties), make_claim(WWW, owner=BLUE)]


def _pairing(zone: list[Endpoint]) -> Pairing:
    return pair(zone, [DEFAULT_PROFILE])


def _plan(zone: list[Endpoint], desired: list[Endpoint], *equal: ValuePair) -> PlannedChanges:
    return compute_plan(desired, _pairing(zone), SETTINGS, EqualValues(frozenset(equal)))


def _questions(zone: list[Endpoint], desired: list[Endpoint]) -> set[ValuePair]:
    return set(list_questions(desired, _pairing(zone), SETTINGS.managed_types))


def test_a_value_that_means_the_same_is_not_updated() -> None:
    zone, desired = _standing(("aws/weight", "10")), [wanted(WWW, properties=[("aws/weight", "010")])]

    assert len(_plan(zone, desired).updates) == 1
    assert _plan(zone, desired, TEN).is_empty()


def test_an_answer_counts_for_its_property_and_its_direction_alone() -> None:
    zone = _standing(("aws/weight", "10"), ("alias", "true"))
    both = [wanted(WWW, properties=[("aws/weight", "010"), ("alias", "false")])]
    turned = [wanted(WWW, properties=[("alias", "true"), ("aws/weight", "11")])]

    assert len(_plan(zone, both, TEN).updates) == 1
    assert len(_plan(zone, turned, TEN, ValuePair("aws/weight", "11", "10")).updates) == 1


@pytest.mark.parametrize(
    ("zone", "desired", "pair_asked"),
    [
        ([("alias", "true")], [], ValuePair("alias", "true", "")),
        ([], [("alias", "false")], ValuePair("alias", "", "false")),
    ],
)
def test_a_property_that_one_side_does_not_have_is_no_text_there(
    zone: list[tuple[str, str]], desired: list[tuple[str, str]], pair_asked: ValuePair
) -> None:
    asked = _questions(_standing(*zone), [wanted(WWW, properties=desired)])

    assert asked == {pair_asked}
    assert _plan(_standing(*zone), [wanted(WWW, properties=desired)], pair_asked).is_empty()


def test_other_targets_are_a_reason_whatever_the_properties_mean() -> None:
    zone = _standing(("aws/weight", "10"), targets=("192.0.2.7",))
    desired = [wanted(WWW, properties=[("aws/weight", "010")])]

    (update,) = _plan(zone, desired, TEN).updates
    assert update.wanted.targets == ("192.0.2.1",)


def test_only_what_decides_is_asked() -> None:
    alike = _standing(("aws/weight", "10"))
    moved = _standing(("aws/weight", "10"), targets=("192.0.2.7",))

    assert _questions(alike, [wanted(WWW, properties=[("aws/weight", "10")])]) == set()
    assert _questions(moved, [wanted(WWW, properties=[("aws/weight", "010")])]) == set()
    assert _questions(alike, [wanted(MAIL, properties=[("aws/weight", "010")])]) == set()
    assert _questions(alike, [wanted(WWW, ttl=60, properties=[("aws/weight", "010")])]) == set()
    assert _questions(alike, [wanted("WWW.example.org.", properties=[("aws/weight", "010")])]) == {TEN}


def test_what_is_shown_beside_what_is_wanted_is_not_asked_about_when_it_is_read_back() -> None:
    shown = wanted(WWW, properties=[("aws/weight", "10"), ("note", "x")]).provider_specific
    asked = wanted(WWW, properties=[("aws/weight", "010")]).provider_specific

    assert EqualValues(frozenset({TEN})).are_shown(shown, asked)
    assert not EqualValues().are_shown(shown, asked)
