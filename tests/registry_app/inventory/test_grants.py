"""A grant reaches what it says: what comes to nothing is not taken for everything."""

import pytest
from django.contrib.auth.models import Group

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.grant import add_grant
from registry_app.models import Grant

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("typed", [".", " . ", "..", " "])
def test_a_name_that_comes_to_nothing_is_refused(typed: str) -> None:
    team = Group.objects.create(name="team-blue")

    with pytest.raises(InvalidRequest) as refused:
        add_grant(SYSTEM, {"group": team, "action": "request", "name_suffix": typed})

    assert "name_suffix" in refused.value.fields
    assert not Grant.objects.exists()


def test_a_name_is_stored_in_its_one_spelling_and_none_is_any() -> None:
    team = Group.objects.create(name="team-blue")

    narrowed = add_grant(SYSTEM, {"group": team, "action": "request", "name_suffix": ".Blue.Example.ORG."})
    wide = add_grant(SYSTEM, {"group": team, "action": "request"})

    assert (narrowed.name_suffix, wide.name_suffix) == ("blue.example.org", "")
