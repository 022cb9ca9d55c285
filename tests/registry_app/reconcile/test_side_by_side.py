"""A hundred providers and several workers: each is synced once, none stops another."""

import queue
import threading
from contextlib import ExitStack

import pytest
from django.db import connection
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.models import Owner, Provider, RecordSet, SyncRun
from registry_app.queries.provider import find_due
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]
PROVIDERS = 100
SERVERS = 10
WORKERS = 6


def test_a_hundred_providers_are_mirrored_while_some_fail() -> None:
    with ExitStack() as running:
        for number in range(SERVERS):
            zone = make_zone(f"cluster-{number}", 5, domain=f"zone-{number}.example.org")
            reference = running.enter_context(ReferenceProvider(zone))
            if number == 0:
                reference.faults.plan("GET /records", read_faults.status(500), times=None)
            for copy in range(PROVIDERS // SERVERS):
                make_provider(f"provider-{number}-{copy}", url=reference.url)

        _sync_all_at_once(find_due(timezone.now()))

    assert Provider.objects.filter(status=Provider.Status.OK).count() == 90
    assert Provider.objects.filter(status=Provider.Status.FAILING).count() == 10
    assert RecordSet.objects.count() == 450
    assert Owner.objects.count() == SERVERS - 1
    assert SyncRun.objects.filter(status=SyncRun.Status.RUNNING).count() == 0
    assert not Provider.objects.exclude(lease_holder="").exists()


def test_a_sync_asked_for_many_times_at_once_leaves_one_mirror() -> None:
    with ReferenceProvider(make_zone(count=20)) as reference:
        provider = make_provider(url=reference.url)

        _sync_all_at_once([provider.pk] * 12)

    assert RecordSet.objects.count() == 20
    assert SyncRun.objects.filter(status=SyncRun.Status.STORED).count() == 1


def _sync_all_at_once(provider_ids: list[int]) -> None:
    """As workers do it: whoever is free takes the next."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for provider_id in provider_ids:
        waiting.put(provider_id)

    def work() -> None:
        try:
            while True:
                sync_provider(waiting.get_nowait(), actor=SYSTEM, trigger="schedule")
        except queue.Empty:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
