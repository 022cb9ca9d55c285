"""The view of a guard endpoint is switched on for an owner with name patterns alone."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.guard_endpoint import change_guard_endpoint, register_guard_endpoint
from registry_app.models import AuditEntry, GuardEndpoint, Instance, Owner
from tests.factories import make_guard_endpoint, make_instance, make_owner, make_provider

pytestmark = pytest.mark.django_db


def _make_instance(*patterns: str) -> Instance:
    return make_instance(make_owner(name_patterns=list(patterns)))


def test_it_is_switched_on_for_an_owner_with_name_patterns() -> None:
    values = {"slug": "blue", "provider": make_provider(), "instance": _make_instance("blue.example.org")}

    row = register_guard_endpoint(SYSTEM, values)
    change_guard_endpoint(SYSTEM, row.pk, {"has_own_view": True})

    row.refresh_from_db()
    entry = AuditEntry.objects.order_by("sequence").last()
    assert row.has_own_view
    assert entry is not None
    assert (entry.before, entry.after) == ({"has_own_view": False}, {"has_own_view": True})


def test_it_is_refused_for_an_owner_without_name_patterns() -> None:
    provider, instance = make_provider(), _make_instance()
    values = {"slug": "blue", "provider": provider, "instance": instance, "has_own_view": True}

    with pytest.raises(InvalidRequest) as registered:
        register_guard_endpoint(SYSTEM, values)
    row = make_guard_endpoint(instance, provider)
    with pytest.raises(InvalidRequest) as changed:
        change_guard_endpoint(SYSTEM, row.pk, {"has_own_view": True})

    assert registered.value.fields == changed.value.fields
    assert list(registered.value.fields) == ["has_own_view"]
    assert not GuardEndpoint.objects.get().has_own_view


def test_other_settings_can_be_changed_when_the_name_patterns_are_gone() -> None:
    row = make_guard_endpoint(_make_instance("blue.example.org"), has_own_view=True)
    Owner.objects.update(name_patterns=[])

    change_guard_endpoint(SYSTEM, row.pk, {"deadline_seconds": 20, "has_own_view": False})

    row.refresh_from_db()
    assert (row.deadline_seconds, row.has_own_view) == (20, False)
