"""A person wants a provider visited now."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed, RefusedBySafety
from registry_app.models import AuditEntry
from registry_app.queries.provider import find_due
from registry_app.reconcile.request_visit import request_visit
from tests.factories import make_provider

pytestmark = pytest.mark.django_db


def test_it_is_due_at_once() -> None:
    provider = make_provider(next_visit_at=timezone.now() + timedelta(hours=1))

    request_visit(SYSTEM, provider.pk)

    assert find_due(timezone.now()) == [provider.pk]
    assert AuditEntry.objects.get().action == "provider.visit_requested"


def test_one_that_is_switched_off_is_not_visited() -> None:
    provider = make_provider(is_enabled=False)

    with pytest.raises(RefusedBySafety):
        request_visit(SYSTEM, provider.pk)

    assert not AuditEntry.objects.exists()


def test_nobody_without_the_right_asks_for_it() -> None:
    provider = make_provider()
    dora = Actor(kind="user", name="dora", user_id=1)

    with pytest.raises(NotAllowed):
        request_visit(dora, provider.pk)

    assert not AuditEntry.objects.exists()
