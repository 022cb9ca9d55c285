"""What can be done in a process that may be killed, by name, with arguments that travel as JSON."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.test import override_settings

from registry_app.actor import SYSTEM, Actor
from registry_app.guard.answers import answer_changes
from registry_app.guard.deadline import Deadline
from registry_app.guard.session import finish_guard_steps
from registry_app.inventory.purge_audit import purge_audit
from registry_app.loop.finish_run import finish_loop_run
from registry_app.loop.run_loop import run_loop
from registry_app.models import SyncRun, Transfer
from registry_app.queries.guard_endpoint import find_guard_endpoint
from registry_app.reconcile.sync import sync_provider
from registry_app.resync.resync_registry import resync_registry
from registry_app.transfer.decisions import (
    approve_transfer,
    cancel_transfer,
    decide_transfer,
    reject_transfer,
)
from registry_app.transfer.periodic_checks import expire_transfers, reopen_if_applied_late
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.world import ask, make_actor, request_reviewed
from tests.registry_app.writes.passing_on import finish, pass_on


def _request(user_id: int) -> None:
    request_reviewed(_actor(user_id), ask())


def _approve(user_id: int, transfer_id: int) -> None:
    transfer = Transfer.objects.get(pk=transfer_id)
    approve_transfer(_actor(user_id), transfer.public_id, fingerprint=transfer.plan_fingerprint)


def _reject(user_id: int, transfer_id: int) -> None:
    reject_transfer(_actor(user_id), Transfer.objects.get(pk=transfer_id).public_id, reason="No.")


def _cancel(user_id: int, transfer_id: int) -> None:
    cancel_transfer(_actor(user_id), Transfer.objects.get(pk=transfer_id).public_id, reason="No.")


def _decide(user_id: int, transfer_id: int, decision: str) -> None:
    public_id = Transfer.objects.get(pk=transfer_id).public_id
    decide_transfer(_actor(user_id), public_id, decision=decision, reason="Seen.")


def _sync(provider_id: int) -> None:
    sync_provider(provider_id, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)


def _sync_by_schedule(provider_id: int) -> None:
    sync_provider(provider_id, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)


def _purge_audit(file: str) -> None:
    # Every entry but the last is old enough.
    moment = timedelta(microseconds=1)
    with override_settings(DNSADMIN_RETENTION_AUDIT=moment, DNSADMIN_ACCOUNT_SETTLES=moment):
        purge_audit(SYSTEM, Path(file))


def _guard_changes(slug: str, body: str) -> None:
    endpoint = find_guard_endpoint(slug)
    assert endpoint is not None
    answer_changes(endpoint, body.encode(), Deadline(60))


def _actor(user_id: int) -> Actor:
    return make_actor(User.objects.get(pk=user_id))


ACTS: dict[str, Callable[..., object]] = {
    "run": run_transfer,
    "request": _request,
    "approve": _approve,
    "reject": _reject,
    "cancel": _cancel,
    "decide": _decide,
    "expire": expire_transfers,
    "reopen_if_applied_late": reopen_if_applied_late,
    "sync": _sync,
    "sync_by_schedule": _sync_by_schedule,
    "purge_audit": _purge_audit,
    "run_loop": run_loop,
    "finish_loop_run": finish_loop_run,
    "resync_registry": resync_registry,
    "guard_changes": _guard_changes,
    "finish_guard_steps": finish_guard_steps,
    "pass_on": pass_on,
    "finish_passing_on": finish,
}
