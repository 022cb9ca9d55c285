"""Finishing what an earlier run began, by reading: nothing is ever sent from here."""

import structlog

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.errors import LeaseLost, SecretUnavailable
from registry_app.loop.loop_run import End, close_run, was_sent
from registry_app.loop.session import LoopSession
from registry_app.loop.step_changes import changes_of_step
from registry_app.loop.steps import read_back_and_settle
from registry_app.mirror.place import name_place
from registry_app.mirror.plausibility import NOTHING, Counts, count_endpoints
from registry_app.models import UNSETTLED, LoopRun, LoopStep, Provider
from registry_app.reconcile.failure import describe_failure
from registry_app.reconcile.lease import Lease
from registry_app.writes.pace import MOST_ATTEMPTS, compute_pause
from registry_app.writes.session import LeasedProvider, ProviderBusy, leased_provider, open_session
from registry_app.writes.step import resume_steps

_logger = structlog.get_logger(__name__)
_STOPPED = "Its worker stopped before its end."


def finish_loop_run(run_id: int) -> None:
    """Read what became of a run whose worker is gone, and end it. Called at any time, any number of times.

    Without the provider's lease nothing happens: its holder may be working on the run.
    """
    run = LoopRun.objects.filter(pk=run_id, status=LoopRun.Status.RUNNING).first()
    if run is None:
        return
    try:
        with leased_provider(run.provider_id, "loop") as leased:
            _finish_alone(run, leased)
    except ProviderBusy:
        return
    except LeaseLost as error:
        _logger.warning("loop.left_to_another_run", run=run.pk, error=str(error))


def finish_left_behind(session: LoopSession, beside: LoopRun) -> None:
    """End every other run at this provider that is not over: this process has the lease, so no other
    works on them. Raises ProviderError, WireError, LeaseLost."""
    left = LoopRun.objects.filter(provider=session.provider, status=LoopRun.Status.RUNNING)
    for run in left.exclude(pk=beside.pk).order_by("pk"):
        moved = _find_changed_url(run, session.provider)
        if moved and _has_unsettled(run):
            _give_up(run, session, moved)
        else:
            _settle_and_close(session, run)


def postpone(run: LoopRun, leased: LeasedProvider, problem: str) -> None:
    """It cannot be read back now: try again with longer and longer pauses, then give up. Raises LeaseLost."""
    run.refresh_from_db()
    if run.attempt >= MOST_ATTEMPTS:
        _give_up(run, leased, problem)
        return
    LoopRun.objects.filter(pk=run.pk, status=LoopRun.Status.RUNNING).update(
        attempt=run.attempt + 1,
        next_attempt_at=fetch_now() + compute_pause(run.attempt),
        reason=f"It was sent, or may have been, and cannot be read back now: {problem}"[:2_000],
    )


def _finish_alone(run: LoopRun, leased: LeasedProvider) -> None:
    # Read under the lease: whoever had it before may have ended the run.
    run.refresh_from_db()
    if run.status != LoopRun.Status.RUNNING:
        return
    try:
        if not _has_unsettled(run):
            resume_steps(leased, run.steps.all(), lambda _: None)  # there is nothing to settle
            _close_stopped(run, leased.lease)
            return
        moved = _find_changed_url(run, leased.provider)
        if moved:
            _give_up(run, leased, moved)
            return
        with open_session(leased, LoopSession) as session:
            _settle_and_close(session, run)
    except (ProviderError, WireError, SecretUnavailable) as error:
        postpone(run, leased, describe_failure(error)[1])


def _settle_and_close(session: LoopSession, run: LoopRun) -> None:
    was_removed = session.removed
    for step in run.steps.filter(status__in=UNSETTLED):
        session.removed = session.removed.plus(_count_removed(step))

    def settle(step: LoopStep) -> None:
        read_back_and_settle(session, step)

    resume_steps(session, run.steps.all(), settle)
    session.removed = was_removed
    _close_stopped(run, session.lease)


def _close_stopped(run: LoopRun, lease: Lease) -> None:
    status = LoopRun.Status.INCOMPLETE if was_sent(run) else LoopRun.Status.FAILED
    outcome = "What was sent was read back." if was_sent(run) else "Nothing was sent."
    reason = f"{_STOPPED} {outcome} The next run plans from what it reads."
    close_run(run, lease, SYSTEM, End(status, reason))


def _give_up(run: LoopRun, leased: LeasedProvider, problem: str) -> None:
    with leased.fenced():
        run.steps.filter(status__in=UNSETTLED).update(status=LoopStep.Status.UNSEEN)
    reason = f"It was sent, or may have been, and could not be read back: {problem}"
    close_run(run, leased.lease, SYSTEM, End(LoopRun.Status.INCOMPLETE, reason))


def _find_changed_url(run: LoopRun, provider: Provider) -> str:
    """Why nothing may be read where the provider is now. Another address is another server: what it shows
    proves nothing about what was sent. Raises SecretUnavailable."""
    if not provider.is_enabled:
        return f"{provider.name} is switched off."
    if run.address != name_place(provider):
        return f"{provider.name} has another address now than the one it was sent to."
    return ""


def _has_unsettled(run: LoopRun) -> bool:
    return run.steps.filter(status__in=UNSETTLED).exists()


def _count_removed(step: LoopStep) -> Counts:
    if step.store:
        return NOTHING
    changes = changes_of_step(step).values()
    return count_endpoints(change.old for change in changes if change.old and change.new is None)
