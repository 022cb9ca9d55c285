"""A person wants a provider synced now."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from providers.wire.json_codec import encode_endpoints
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed, RefusedBySafety
from registry_app.models import AuditEntry
from registry_app.queries.provider import find_due
from registry_app.reconcile.request_sync import request_sync
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db


def test_it_is_due_at_once() -> None:
    provider = make_provider(next_sync_at=timezone.now() + timedelta(hours=1))

    request_sync(SYSTEM, provider.pk)

    assert find_due(timezone.now()) == [provider.pk]
    assert AuditEntry.objects.get().action == "provider.visit_requested"


@pytest.mark.parametrize("body", [encode_endpoints(make_zone(count=4)), b"[]"])  # stored, held
def test_what_is_asked_for_while_a_sync_goes_on_is_due_after_it(body: bytes) -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url, interval_seconds=86_400)
        sync(provider)
        settled = find_due(timezone.now())
        reference.faults.plan("GET /records", read_faults.body(body))
        asking = AfterReading("registry_app_claim", lambda: request_sync(SYSTEM, provider.pk))

        with connection.execute_wrapper(asking):
            sync(provider)

    assert settled == []
    assert find_due(timezone.now()) == [provider.pk]


def test_one_that_is_switched_off_is_not_visited() -> None:
    provider = make_provider(is_enabled=False)

    with pytest.raises(RefusedBySafety):
        request_sync(SYSTEM, provider.pk)

    assert not AuditEntry.objects.exists()


def test_nobody_without_the_right_asks_for_it() -> None:
    provider = make_provider()
    dora = Actor(kind="user", name="dora", user_id=1)

    with pytest.raises(NotAllowed):
        request_sync(dora, provider.pk)

    assert not AuditEntry.objects.exists()
