"""Finishing what an earlier run began, by looking: nothing is ever sent from here."""

from datetime import timedelta

import structlog
from django.db import transaction

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.errors import LeaseLost, SecretUnavailable, StateMoved
from registry_app.loop.hold import Hold, holding, take_lease_or_leave
from registry_app.loop.look import look_and_settle
from registry_app.loop.run_rows import End, close_run, was_sent
from registry_app.loop.step_changes import changes_of_step
from registry_app.loop.steps import UNSETTLED, call_off
from registry_app.mirror.place import name_place
from registry_app.mirror.plausibility import NOTHING, Shown, count_shown
from registry_app.models import LoopRun, LoopStep, Provider
from registry_app.reconcile.failure import describe_failure
from registry_app.reconcile.lease import Lease, raise_if_lost, release_lease

_logger = structlog.get_logger(__name__)
_FIRST_RETRY = timedelta(seconds=10)
_LONGEST_RETRY = timedelta(minutes=5)
_MOST_ATTEMPTS = 6
_STOPPED = "Its worker stopped on the way."


def finish_loop_run(run_id: int) -> None:
    """Look what became of a run whose worker is gone, and end it. Called at any time, any number of times.

    Without the provider's lease nothing happens: its holder may be at it.
    """
    run = LoopRun.objects.filter(pk=run_id, status=LoopRun.Status.RUNNING).first()
    if run is None:
        return
    provider = Provider.objects.get(pk=run.provider_id)
    try:
        lease = take_lease_or_leave(provider)
    except StateMoved:
        return
    try:
        _finish_alone(run, provider, lease)
    except LeaseLost as error:
        _logger.warning("loop.left_to_another_run", run=run.pk, error=str(error))
    finally:
        release_lease(lease)


def finish_left_behind(hold: Hold, beside: LoopRun) -> None:
    """End every run at this provider that is not over but for the one under way: we have the lease, so
    nobody is at them. Raises ProviderError, WireError, LeaseLost."""
    left = LoopRun.objects.filter(provider=hold.provider, status=LoopRun.Status.RUNNING)
    for run in left.exclude(pk=beside.pk).order_by("pk"):
        moved = _find_moved_place(run, hold.provider)
        if moved and _has_unsettled(run):
            _give_up(run, hold.lease, moved)
        else:
            _settle_and_close(hold, run)


def postpone(run: LoopRun, lease: Lease, problem: str) -> None:
    """It cannot be read back now: later, more and more seldom, and in the end never. Raises LeaseLost."""
    run.refresh_from_db()
    if run.attempt >= _MOST_ATTEMPTS:
        _give_up(run, lease, problem)
        return
    pause = min(_FIRST_RETRY * 2**run.attempt, _LONGEST_RETRY)
    LoopRun.objects.filter(pk=run.pk, status=LoopRun.Status.RUNNING).update(
        attempt=run.attempt + 1,
        next_look_at=fetch_now() + pause,
        reason=f"It was sent, or may have been, and cannot be read back now: {problem}"[:2_000],
    )


def _finish_alone(run: LoopRun, provider: Provider, lease: Lease) -> None:
    # Read under the lease: whoever had it before may have ended the run.
    run.refresh_from_db()
    if run.status != LoopRun.Status.RUNNING:
        return
    if not _has_unsettled(run):
        _call_off_and_close(run, lease)
        return
    try:
        moved = _find_moved_place(run, provider)
        if moved:
            _give_up(run, lease, moved)
            return
        with holding(provider, lease) as hold:
            _settle_and_close(hold, run)
    except (ProviderError, WireError, SecretUnavailable) as error:
        postpone(run, lease, describe_failure(error)[1])


def _settle_and_close(hold: Hold, run: LoopRun) -> None:
    unsettled = list(run.steps.filter(status__in=UNSETTLED).order_by("ordinal"))
    was_removed = hold.removed
    for step in unsettled:
        hold.removed = hold.removed.plus(_count_removed(step))
    for step in unsettled:
        look_and_settle(hold, step)
    hold.removed = was_removed
    _call_off_and_close(run, hold.lease)


def _call_off_and_close(run: LoopRun, lease: Lease) -> None:
    for step in run.steps.filter(status=LoopStep.Status.STORED).order_by("ordinal"):
        call_off(lease, step)
    status = LoopRun.Status.INCOMPLETE if was_sent(run) else LoopRun.Status.FAILED
    told = "What was sent was read back." if was_sent(run) else "Nothing was sent."
    reason = f"{_STOPPED} {told} The next run plans from what is true then."
    close_run(run, lease, SYSTEM, End(status, reason))


def _give_up(run: LoopRun, lease: Lease, problem: str) -> None:
    with transaction.atomic():
        raise_if_lost(lease)
        run.steps.filter(status__in=UNSETTLED).update(status=LoopStep.Status.UNSEEN)
    reason = f"It was sent, or may have been, and could not be read back: {problem}"
    close_run(run, lease, SYSTEM, End(LoopRun.Status.INCOMPLETE, reason))


def _find_moved_place(run: LoopRun, provider: Provider) -> str:
    """Why nothing may be read where the provider is now; another address is another server: what stands there
    proves nothing about what was sent. Raises SecretUnavailable."""
    if not provider.is_enabled:
        return f"{provider.name} is switched off."
    if run.address != name_place(provider):
        return f"{provider.name} has another address now than the one it was sent to."
    return ""


def _has_unsettled(run: LoopRun) -> bool:
    return run.steps.filter(status__in=UNSETTLED).exists()


def _count_removed(step: LoopStep) -> Shown:
    if step.registry_profile_id is not None:
        return NOTHING
    changes = changes_of_step(step).values()
    return count_shown(change.old for change in changes if change.old and change.new is None)
