"""Owners are changed in all but the id that the zones name."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.change_owner import change_owner
from registry_app.models import AuditEntry, Owner
from tests.factories import make_owner

pytestmark = pytest.mark.django_db


def test_an_owner_id_is_not_changed_since_the_mirror_would_tell_of_an_owner_no_zone_names() -> None:
    blue = make_owner("blue-cluster")

    with pytest.raises(InvalidRequest) as refused:
        change_owner(SYSTEM, blue.pk, {"owner_id": "green-cluster", "description": "Moved."})

    assert list(refused.value.fields) == ["owner_id"]
    assert Owner.objects.get() == blue
    assert not AuditEntry.objects.exists()


def test_a_form_that_sends_the_owner_id_along_changes_the_rest() -> None:
    blue = make_owner("blue-cluster")

    change_owner(SYSTEM, blue.pk, {"owner_id": "blue-cluster", "description": "Runs the shop."})

    assert Owner.objects.get().description == "Runs the shop."
