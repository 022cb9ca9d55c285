"""One iteration of the loop: desired, current, plan, apply, read back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import structlog

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import ConfirmationNeeded, LeaseLost, RefusedBySafety, SecretUnavailable, StateMoved
from registry_app.loop.confirmation import is_confirmed
from registry_app.loop.declared import build_request, find_loop
from registry_app.loop.finish_run import finish_left_behind, postpone
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan, plan_loop
from registry_app.loop.refusals import find_sending_refusals, raise_if_unplannable
from registry_app.loop.rights import find_rights_refusals
from registry_app.loop.run_rows import End, audit_sending, close_run, note_plan, open_run, was_sent
from registry_app.loop.second_person import raise_if_second_person_is_missing
from registry_app.loop.send_batch import list_rows_to_tidy, tidy_rows
from registry_app.loop.send_plan import send_plan
from registry_app.loop.session import LoopSession
from registry_app.mirror.baseline import ImplausibleResponse
from registry_app.models import UNSETTLED, Loop, LoopRun, LoopStep
from registry_app.queries.declared import fetch_declared
from registry_app.queries.loop import is_loop_due
from registry_app.queries.people import fetch_person
from registry_app.reconcile.failure import describe_failure
from registry_app.writes.session import LeasedProvider, leased_provider, open_session

_logger = structlog.get_logger(__name__)
_STATUS = LoopRun.Status


def run_loop(loop_id: int) -> None:
    """What the scheduler rings for: run a loop that is due. Rung twice, late or early it comes to the same:
    without the provider's lease, or before its time, nothing happens."""
    if not is_loop_due(loop_id):
        return
    loop = find_loop(loop_id)
    is_asked_for = bool(loop.requested_by)
    trigger = LoopRun.Trigger.PERSON if is_asked_for else LoopRun.Trigger.SCHEDULE
    request = build_request(loop, loop.confirmation)
    if is_asked_for:
        request = replace(request, on_behalf_of=_fetch_requester(loop))
    try:
        run_request(request, actor=SYSTEM, trigger=trigger)
    except StateMoved as error:
        _logger.info("loop.provider_busy", loop=loop_id, error=str(error))


def _fetch_requester(loop: Loop) -> Actor:
    """Who asked, with the rights they have now."""
    person = fetch_person(loop.requester_id, loop.requested_by)
    if loop.requester_issuer_id == loop.requester_id:
        return person
    return replace(person, kind="token", issuer_id=loop.requester_issuer_id)


def run_request(
    request: LoopRequest,
    *,
    actor: Actor,
    trigger: LoopRun.Trigger,
    show: Callable[[LoopPlan], object] = lambda _: None,
) -> LoopRun:
    """Plan from a fresh reading under the provider's lease, send what is to be done once, and read it back.

    `show` is given the plan before anything is sent. All that goes wrong on the way ends in the run's status
    and reason; one that cannot be read back yet stays running and is finished by looking. Raises StateMoved
    where somebody else has the provider.
    """
    with leased_provider(request.provider.pk, "loop") as leased:
        return _run_under_lease(request, leased, actor, trigger, show)


def _run_under_lease(
    request: LoopRequest,
    leased: LeasedProvider,
    actor: Actor,
    trigger: LoopRun.Trigger,
    show: Callable[[LoopPlan], object],
) -> LoopRun:
    # As they are under the lease: a run that just ended may have changed the provider, and somebody may have
    # declared anew.
    request = replace(request, provider=leased.provider)
    if request.loop is not None:
        request = replace(request, desired=fetch_declared(request.loop))
    run = open_run(request, leased.lease, actor, trigger)
    try:
        end = _run(_Work(request, run, leased, actor, show))
        if end is not None:
            close_run(run, leased.lease, actor, end)
    except LeaseLost as error:
        _logger.warning("loop.left_to_another_run", run=run.pk, error=str(error))
    run.refresh_from_db()
    return run


@dataclass(frozen=True)
class _Work:
    request: LoopRequest
    run: LoopRun
    leased: LeasedProvider
    actor: Actor
    show: Callable[[LoopPlan], object]


def _run(work: _Work) -> End | None:
    """How the run ends; None: it cannot be told yet."""
    run = work.run
    try:
        raise_if_unplannable(work.request)
        with open_session(work.leased, partial(LoopSession, run_id=run.pk)) as session:
            finish_left_behind(session, run)
            plan = plan_loop(session, work.request)
            note_plan(run, plan)
            work.show(plan)
            return _apply(session, work, plan)
    except RefusedBySafety as error:
        return End(_STATUS.REFUSED, str(error), error.code)
    except (ProviderError, WireError, SecretUnavailable) as error:
        if isinstance(error, ImplausibleResponse):
            work.leased.sync_soon()
        problem = describe_failure(error)[1]
        if run.steps.filter(status__in=UNSETTLED).exists():
            postpone(run, work.leased, problem)
            return None
        return End(_STATUS.INCOMPLETE if was_sent(run) else _STATUS.FAILED, problem)


def _apply(session: LoopSession, work: _Work, plan: LoopPlan) -> End:
    if plan.changes.is_empty() and not list_rows_to_tidy(plan):
        return End(_STATUS.UNCHANGED, left_alone=_tell_left_alone(work.run, plan))
    for refusal in (*find_rights_refusals(work.request, plan), *find_sending_refusals(work.request)):
        raise refusal
    if plan.excess and not is_confirmed(plan.confirmation_text, work.request.confirmation):
        raise ConfirmationNeeded(plan.excess, plan.confirmation_text)
    if plan.excess:
        raise_if_second_person_is_missing(work.request, work.run, plan)
    audit_sending(work.run, work.actor)
    stopped = send_plan(session, work.run, tidy_rows(session, work.run, plan))
    if stopped or work.run.steps.exclude(status=LoopStep.Status.VERIFIED).exists():
        return End(_STATUS.INCOMPLETE, stopped or "Not everything was read back as wanted.")
    status = _STATUS.VERIFIED if work.run.steps.exists() else _STATUS.UNCHANGED
    return End(status, left_alone=_tell_left_alone(work.run, plan))


def _tell_left_alone(run: LoopRun, plan: LoopPlan) -> tuple[str, ...]:
    """What is wanted and was not made, with the reasons: what the policy asks for is not among it, and what
    was found on the way is."""
    planned = [
        (each.key.name, each.key.record_type, each.reason)
        for each in plan.changes.left_alone
        if not each.is_meant
    ]
    later = [
        (each["name"], each["record_type"], each["reason"])
        for each in run.left_alone[len(plan.changes.left_alone) :]
    ]
    return tuple(f"{name} {record_type}: {reason}" for name, record_type, reason in (*planned, *later))
