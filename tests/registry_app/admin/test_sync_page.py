"""What the pages say of a sync: how many a row counts, and why all of a response was read."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import SyncRun
from tests.factories import make_administrator, make_provider
from tests.registry_app.admin.world import address, sign_in

pytestmark = pytest.mark.django_db


def test_how_many_syncs_a_row_counts_and_when_the_last_one_was_is_shown() -> None:
    client, now = sign_in(make_administrator()), timezone.now()
    provider = make_provider()
    row = SyncRun.objects.create(
        provider=provider,
        trigger="schedule",
        status="unchanged",
        epoch=1,
        started_at=now - timedelta(days=1),
        finished_at=now - timedelta(days=1),
        sync_count=1440,
        repeated_until=now,
    )

    strip = client.get(address("provider_change", provider.pk)).content.decode()
    syncs = client.get(address("syncrun_changelist")).content.decode()
    page = client.get(address("syncrun_change", row.pk)).content.decode()

    began = now - timedelta(days=1)
    assert f"Unchanged 1440 times, {began:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M}" in strip
    assert "1440 times, last <time" in syncs
    assert "1440 times, last <time" in page


def test_why_all_of_a_response_was_read_is_shown() -> None:
    row = SyncRun.objects.create(
        provider=make_provider(),
        trigger="schedule",
        status="held",
        epoch=1,
        started_at=timezone.now(),
        whole_reading=SyncRun.WholeReading.HELD_BEFORE,
    )

    page = sign_in(make_administrator()).get(address("syncrun_change", row.pk)).content.decode()

    assert "all: A snapshot was held, and none was stored since" in page
