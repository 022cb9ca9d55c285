"""Owners are changed in all but the id that the zones name."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest, RefusedBySafety
from registry_app.inventory.owner import change_owner
from registry_app.models import AuditEntry, Owner
from tests.factories import make_owner, make_provider, make_record_set

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


def test_decommissioning_says_what_is_still_owned_and_asks_what_becomes_of_it() -> None:
    owner = make_owner("blue-cluster")
    for zone, number in (("blue-zone", 2), ("green-zone", 1)):
        provider = make_provider(zone)
        for each in range(number):
            make_record_set(provider, f"n{each}.example.org", owner=owner)

    with pytest.raises(RefusedBySafety) as caught:
        change_owner(SYSTEM, owner.pk, {"status": "decommissioned"})
    change_owner(SYSTEM, owner.pk, {"status": "decommissioned", "keep_record_sets": True})

    assert caught.value.code == "owner_still_owns"
    assert "blue-cluster still owns 3 record sets (2 at blue-zone, 1 at green-zone)." in str(caught.value)
    owner.refresh_from_db()
    assert owner.status == Owner.Status.DECOMMISSIONED
    assert AuditEntry.objects.get().reason == "3 record sets (2 at blue-zone, 1 at green-zone) stay with it."


def test_an_owner_that_owns_nothing_is_decommissioned_without_a_question() -> None:
    owner = make_owner("blue-cluster")

    change_owner(SYSTEM, owner.pk, {"status": "decommissioned"})

    owner.refresh_from_db()
    assert owner.status == Owner.Status.DECOMMISSIONED
