"""The lookup `among` finds what `in` finds, however many values there are."""

from collections.abc import Collection

import pytest

from registry_app.models import Owner

pytestmark = pytest.mark.django_db
_NAMES = ("blue-cluster", "green", "it's", 'a "b"', "100%s", "back\\slash", "grün", "[]", "line\nfeed")


@pytest.mark.parametrize(
    "values",
    [(), ("green",), ("nobody",), ("GREEN",), frozenset(_NAMES), dict.fromkeys(_NAMES, 1).keys()],
)
def test_texts_are_found_as_they_are(values: Collection[str]) -> None:
    Owner.objects.bulk_create([Owner(owner_id=name) for name in _NAMES])

    found = Owner.objects.filter(owner_id__among=values).values_list("owner_id", flat=True)

    assert sorted(found) == sorted(set(_NAMES).intersection(values))


def test_numbers_are_found_among_more_than_a_statement_has_parameters() -> None:
    owners = [Owner.objects.create(owner_id=name) for name in _NAMES]
    last = owners[-1].pk

    assert set(Owner.objects.filter(pk__among=range(last, last + 300_000))) == {owners[-1]}
    assert not Owner.objects.exclude(pk__among=[owner.pk for owner in owners]).exists()
