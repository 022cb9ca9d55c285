"""A provider that fails is tried less and less often, and told of."""

from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.models import Finding, Provider, SyncRun
from registry_app.reconcile.request_sync import request_sync
from registry_app.reconcile.sweep import note_silent_providers
from registry_app.reconcile.sync_run import LONGEST_BACKOFF, compute_next_sync, compute_next_try
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.syncing import sync


@pytest.mark.django_db
def test_the_third_failure_in_a_row_opens_a_finding_and_a_success_resolves_it() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        reference.faults.plan("GET /records", read_faults.status(500), times=3)

        for _ in range(2):
            sync(provider)
        before_third = Finding.objects.count()
        sync(provider)
        opened = Finding.objects.get(kind=Finding.Kind.PROVIDER_FAILING)
        sync(provider)

    assert before_third == 0
    assert (opened.state, opened.provider) == (Finding.State.OPEN, provider)
    opened.refresh_from_db()
    assert opened.state == Finding.State.RESOLVED
    assert (provider.status, provider.consecutive_failures, provider.last_error) == (
        Provider.Status.OK,
        0,
        "",
    )


@pytest.mark.django_db
def test_it_does_not_come_back_before_the_provider_asked_it_to() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url, interval_seconds=5)
        reference.faults.plan("GET /records", read_faults.too_many_requests("1800"))

        sync(provider)

    assert provider.next_sync_at is not None
    assert provider.next_sync_at - timezone.now() > timedelta(minutes=29)


def test_the_delay_doubles_and_ends_at_an_hour() -> None:
    now = timezone.now()

    delays = [(compute_next_try(now, 60, failures) - now).total_seconds() for failures in (1, 2, 3, 50)]

    for delay, expected in zip(delays, (120, 240, 480, LONGEST_BACKOFF.total_seconds()), strict=True):
        assert 0.8 * expected <= delay <= 1.2 * expected


def test_the_longest_delay_is_an_hour_or_an_interval_that_is_longer() -> None:
    now = timezone.now()

    delays = [(compute_next_try(now, seconds, 9) - now).total_seconds() for seconds in (60, 86_400)]

    assert 0.8 * 3600 <= delays[0] <= 1.2 * 3600
    assert 0.8 * 86_400 <= delays[1] <= 1.2 * 86_400


def test_tries_after_one_failure_are_spread() -> None:
    now = timezone.now()

    delays = {compute_next_try(now, 60, 1) - now for _ in range(50)}

    assert len(delays) > 1


def test_syncs_of_one_interval_are_spread() -> None:
    now = timezone.now()

    delays = {compute_next_sync(now, 60) - now for _ in range(50)}

    assert len(delays) > 1
    assert all(timedelta(seconds=54) <= delay <= timedelta(seconds=66) for delay in delays)


@pytest.mark.django_db
def test_anything_unexpected_fails_the_run_and_is_raised_for_the_log() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        # What no code of ours writes: a row somebody edited by hand.
        provider = make_provider(url=reference.url, domain_filter={"include": 7})

        with pytest.raises(msgspec.ValidationError):
            sync(provider)

    run = SyncRun.objects.get()
    provider.refresh_from_db()
    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, "unexpected")
    assert (provider.status, provider.lease_holder) == (Provider.Status.FAILING, "")
    assert provider.next_sync_at is not None


@pytest.mark.django_db
def test_no_secret_and_no_body_is_in_what_is_kept_of_a_failure() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(
            url=reference.url, authentication="basic", username="blue", secret="s3cret-password"
        )
        reference.faults.plan("GET /records", read_faults.status(401, "no such login: blue s3cret-password"))

        run = sync(provider)

    assert run.status == SyncRun.Status.FAILED
    assert "s3cret-password" not in f"{run.error} {provider.last_error}"


@pytest.mark.django_db
def test_a_silent_provider_is_silent_no_more_when_a_person_has_it_synced() -> None:
    long_ago = timezone.now() - timedelta(hours=2)
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        Provider.objects.filter(pk=provider.pk).update(next_sync_at=long_ago, last_sync_at=long_ago)
        noted = note_silent_providers()
        request_sync(SYSTEM, provider.pk)

        sync(provider)

    assert noted == 1
    assert Finding.objects.get(kind=Finding.Kind.PROVIDER_FAILING).state == Finding.State.RESOLVED
