"""One iteration of a loop: desired, current, plan, batch after batch sent and read back. And its preview."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, zip_longest

import structlog

from providers.http.errors import ProviderError
from providers.planning.planned_changes import PlannedChanges
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import (
    ConfirmationNeeded,
    DnsadminError,
    LeaseLost,
    RefusedBySafety,
    SecretUnavailable,
    StateMoved,
)
from registry_app.loop.finish_run import finish_left_behind, postpone
from registry_app.loop.loop_request import LoopRequest, build_request, find_loop
from registry_app.loop.loop_run import (
    End,
    audit_sending,
    close_run,
    note_left_alone,
    note_plan,
    open_run,
    was_sent,
)
from registry_app.loop.plan_loop import LoopPlan, is_confirmed, keep_names, list_keys, plan_again, plan_loop
from registry_app.loop.refusals import (
    find_rights_refusals,
    find_sending_refusals,
    find_stop_refusals,
    raise_if_other_person_is_missing,
    raise_if_unplannable,
)
from registry_app.loop.send_batch import list_rows_to_tidy, send_batch, tidy_rows
from registry_app.loop.session import LoopSession
from registry_app.mirror.baseline import ImplausibleResponse
from registry_app.models import UNSETTLED, Loop, LoopRun, LoopStep
from registry_app.queries.actor import fetch_person
from registry_app.queries.loop import fetch_declared, is_loop_due
from registry_app.reconcile.failure import describe_failure
from registry_app.writes.pace import Pace
from registry_app.writes.session import LeasedProvider, leased_provider, open_session

_logger = structlog.get_logger(__name__)
_STATUS = LoopRun.Status


def run_loop(loop_id: int) -> None:
    """Run a loop that is due. Called by the scheduler, at any time, any number of times: without the
    provider's lease, or before the loop is due, nothing happens."""
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
    """The requester, with the rights they have now."""
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
    and reason; one that cannot be read back yet stays running and is finished by reading. Raises StateMoved
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
    # Read under the lease: a run that just ended may have changed the provider, and somebody may have
    # declared other endpoints.
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
    """How the run ends; None: that is not known yet."""
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
        return End(_STATUS.UNCHANGED, left_alone=_describe_left_alone(work.run, plan))
    for refusal in (*find_rights_refusals(work.request, plan), *find_sending_refusals(work.request)):
        raise refusal
    if plan.excess and not is_confirmed(plan.confirmation_text, work.request.confirmation):
        raise ConfirmationNeeded(plan.excess, plan.confirmation_text)
    if plan.excess:
        raise_if_other_person_is_missing(work.request, work.run, plan)
    audit_sending(work.run, work.actor)
    stopped = _send_plan(session, work.run, tidy_rows(session, work.run, plan))
    if stopped or work.run.steps.exclude(status=LoopStep.Status.VERIFIED).exists():
        return End(_STATUS.INCOMPLETE, stopped or "Not everything was read back as wanted.")
    status = _STATUS.VERIFIED if work.run.steps.exists() else _STATUS.UNCHANGED
    return End(status, left_alone=_describe_left_alone(work.run, plan))


def _describe_left_alone(run: LoopRun, plan: LoopPlan) -> tuple[str, ...]:
    """What is desired and was not made, with the reasons; not what the policy leaves alone on purpose, but
    also what only the sending of batches left alone."""
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


def _send_plan(session: LoopSession, run: LoopRun, plan: LoopPlan) -> str:
    """Everything the plan changes, and nothing else, as far as it goes. The reason to stop early, or "".

    After each batch the provider is read, and the next one is planned again from that. Raises NothingSent,
    ProviderError, WireError, LeaseLost: what was begun is then found and finished by reading.
    """
    batches = _cut_into_batches(list_keys(plan.changes), session.provider.effective_batch_size)
    # What is desired at other names exists already, or is left alone: it is not compared again each time.
    plan = keep_names(plan, _names_of(list_keys(plan.changes)))
    pace = Pace(session)
    for batch, next_batch in zip_longest(batches, batches[1:], fillvalue=()):
        next_names = _names_of(next_batch)
        chosen = _select_changes(plan.changes, batch)
        found = None
        if not chosen.is_empty():
            stop = _find_reason_to_stop(session, plan.settings.owner_id, pace)
            if stop:
                return stop
            found = send_batch(session, run, plan, chosen, _names_of(batch) | next_names)
        if found is not None:
            pace.note_batch(has_changed=any(item.outcome == "verified" for item in found[1]))
        if next_names:
            snapshot = found[0] if found else session.read(next_names)
            plan = plan_again(session, plan, snapshot, next_names)
            _note_frozen_since(run, plan, next_batch)
    return ""


def _note_frozen_since(run: LoopRun, plan: LoopPlan, batch: Collection[EndpointKey]) -> None:
    """What was to be changed, and a freeze that began since leaves alone."""
    asked = frozenset(batch)
    left = (each for each in plan.changes.left_alone if each.key in asked and plan.stops.find(each.key.name))
    if frozen := tuple(left):
        note_left_alone(run, frozen)


def _names_of(keys: Iterable[EndpointKey]) -> frozenset[str]:
    return frozenset(key.name for key in keys)


def _find_reason_to_stop(session: LoopSession, owner_id: str, pace: Pace) -> str:
    for refusal in find_stop_refusals(session.provider, owner_id):
        return str(refusal)
    if pace.is_over_time():
        return "It reached the longest time of a run. The next run continues."
    return pace.describe_failures()


def _cut_into_batches(keys: Iterable[EndpointKey], size: int) -> list[tuple[EndpointKey, ...]]:
    """At most `size` record sets each, but a whole name at least.

    All that changes at one name goes together: a new record set there may replace an old one, and
    claims of one name may share a TXT record.
    """
    batches: list[list[EndpointKey]] = []
    for _, at_one_name in groupby(sorted(keys), key=lambda key: key.name):
        group = list(at_one_name)
        if not batches or len(batches[-1]) + len(group) > size:
            batches.append([])
        batches[-1] += group
    return [tuple(batch) for batch in batches]


def _select_changes(changes: PlannedChanges, keys: Collection[EndpointKey]) -> PlannedChanges:
    """Those of the planned changes that are about these record sets."""
    chosen = frozenset(keys)
    return PlannedChanges(
        creates=tuple(each for each in changes.creates if endpoint_key(each) in chosen),
        updates=tuple(each for each in changes.updates if each.current.key in chosen),
        deletes=tuple(each for each in changes.deletes if each.key in chosen),
    )


class ProviderTrouble(DnsadminError):
    """The provider did not respond, or its response could not be used."""

    code = "provider_trouble"


def preview_loop(request: LoopRequest) -> tuple[LoopPlan, list[RefusedBySafety]]:
    """The plan from a fresh reading of the provider under its lease, and why it would not be sent.

    Changes nothing. Raises RefusedBySafety, StateMoved (somebody else has the provider), and
    ProviderTrouble for whatever a provider's client or codec raises.
    """
    raise_if_unplannable(request)
    try:
        with (
            leased_provider(request.provider.pk, "loop") as leased,
            open_session(leased, LoopSession) as session,
        ):
            plan = plan_loop(session, request)
    except (ProviderError, WireError) as error:
        code, text = describe_failure(error)
        raise ProviderTrouble(
            f"{request.provider.name}: {text}",
            now="Nothing was planned or sent.",
            todo="Correct the provider, then try again.",
            code=code,
        ) from error
    return plan, [*find_rights_refusals(request, plan), *find_sending_refusals(request)]
