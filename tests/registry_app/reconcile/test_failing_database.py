"""The N-th statement fails, for every N there is: the next sync puts it right."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from registry_app.audit import verify_audit
from registry_app.models import Provider, SyncRun
from registry_app.reconcile.sweep import mark_abandoned_runs
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.reconcile.syncing import mirrored, sync

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]


class FailingStatement:
    """Lets every statement through but one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.seen = 0

    def __call__(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self.seen += 1
        if self.seen == self.number:
            raise OperationalError("disk I/O error")
        return execute(*statement)


def test_whichever_statement_fails_the_next_sync_puts_it_right() -> None:
    before, after = make_zone(count=12), _changed(make_zone(count=12))
    number, has_failed = 0, True
    with ReferenceProvider(before) as old, ReferenceProvider(after) as new:
        expected = _mirror_of(make_provider("expected"), old.url, new.url)
        while has_failed:
            number += 1
            provider = make_provider(f"provider-{number}", url=old.url)
            sync(provider)
            Provider.objects.filter(pk=provider.pk).update(url=new.url)

            has_failed = _sync_with(FailingStatement(number), provider)

            _let_lease_pass(provider)
            mark_abandoned_runs()
            sync(provider)
            assert mirrored(provider) == expected, f"statement {number}"

    assert number > 20
    assert not SyncRun.objects.filter(status=SyncRun.Status.RUNNING).exists()
    assert verify_audit() is None


def _changed(zone: list[Any]) -> list[Any]:
    """One gone, one with another target, one with another owner, one new."""
    return [
        make_record(zone[0].dns_name, targets=("192.0.2.200",)),
        zone[1],
        zone[2],
        make_claim(zone[2].dns_name, owner="green-cluster"),
        *zone[6:],
        make_record("new.example.org"),
        make_claim("new.example.org"),
    ]


def _mirror_of(provider: Provider, old_url: str, new_url: str) -> list[Any]:
    for url in (old_url, new_url):
        Provider.objects.filter(pk=provider.pk).update(url=url)
        sync(provider)
    return mirrored(provider)


def _sync_with(failing: FailingStatement, provider: Provider) -> bool:
    """Whether the statement that was to fail was reached."""
    try:
        with connection.execute_wrapper(failing):
            sync(provider)
    except OperationalError:
        connection.close()  # as a worker does between tasks
    return failing.seen >= failing.number


def _let_lease_pass(provider: Provider) -> None:
    held = Provider.objects.filter(pk=provider.pk, lease_until__isnull=False)
    held.update(lease_until=timezone.now() - timedelta(seconds=1))
