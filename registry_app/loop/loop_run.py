"""The rows of loop runs: opened before anything is read, closed with what became of it, purged when old."""

from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from providers.planning.planned_changes import LeftAlone
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan, list_keys
from registry_app.loop.step_changes import StepItem, parse_items
from registry_app.mirror.place import name_place
from registry_app.models import Loop, LoopRun, LoopStep, Owner, Provider
from registry_app.reconcile.findings.loops import (
    compute_loop_fingerprint,
    draft_left_alone,
    draft_stuck_run,
    draft_unreadable_manifests,
)
from registry_app.reconcile.lease import Lease, raise_if_lost
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from registry_app.reconcile.sync_run import compute_next_sync, compute_next_try

_STATUS = LoopRun.Status
_GOOD = (_STATUS.UNCHANGED, _STATUS.VERIFIED)
# Of what is left alone the first are kept by name; a plan shows all.
_MOST_LEFT_ALONE = 1_000
_LONGEST_REASON = 2_000
_PAST = {"create": "created", "update": "updated", "delete": "deleted"}
_BATCH = 500


def open_run(request: LoopRequest, lease: Lease, actor: Actor, trigger: LoopRun.Trigger) -> LoopRun:
    """Store a run with the status running; committed when this returns."""
    loop = request.loop
    with transaction.atomic():
        run = LoopRun.objects.create(
            loop=loop,
            owner=request.owner,
            provider=request.provider,
            trigger=trigger,
            requested_by=(loop.requested_by if loop and loop.requested_by else actor.name)[:200],
            policy=request.policy.value,
            source=request.source[:300],
            address=name_place(request.provider),
            confirmation=request.confirmation[:500],
            epoch=lease.epoch,
            started_at=fetch_now(),
        )
        if loop is not None:
            # A request and a confirmation are for one run.
            Loop.objects.filter(pk=loop.pk).update(requested_by="", confirmation="")
    crash_point("loop.begun")
    return run


def note_plan(run: LoopRun, plan: LoopPlan) -> None:
    """Store how much the first plan of a run changes, and what it leaves alone."""
    run.planned = sum(1 for _ in list_keys(plan.changes))
    run.confirmation_text = plan.confirmation_text[:500]
    note_left_alone(run, plan.changes.left_alone)
    crash_point("loop.planned")


def note_left_alone(run: LoopRun, left_alone: tuple[LeftAlone, ...]) -> None:
    """Store more that was left alone, with the reasons."""
    run.left_alone_count += len(left_alone)
    most = _MOST_LEFT_ALONE - len(run.left_alone)
    run.left_alone += [
        {
            "name": each.key.name,
            "record_type": each.key.record_type,
            "set_identifier": each.key.set_identifier,
            "reason": each.reason,
        }
        for each in left_alone[:most]
    ]
    columns = ("planned", "confirmation_text", "left_alone_count", "left_alone")
    LoopRun.objects.filter(pk=run.pk).update(**{name: getattr(run, name) for name in columns})


def audit_sending(run: LoopRun, actor: Actor) -> None:
    """Write the audit line of a run, before its first change set is stored."""
    with transaction.atomic():
        after = {"source": run.source, "policy": run.policy, "planned": run.planned}
        record_audit(actor, "loop_run.sending", run, reason=run.confirmation, after=after)


class End(NamedTuple):
    """How a run ends, and why. `code` is that of a refusal; `left_alone` has the reasons why
    something desired was not made, although nothing was wrong."""

    status: str
    reason: str = ""
    code: str = ""
    left_alone: tuple[str, ...] = ()


def close_run(run: LoopRun, lease: Lease, actor: Actor, end: End) -> None:
    """End a run: its counts, its audit line, its finding, when its loop runs next; the provider is synced
    soon.

    One transaction, fenced by the lease. Raises LeaseLost, also where somebody else ended it.
    """
    steps = run.steps.filter(registry_profile__isnull=True).order_by("ordinal")
    items = [item for step in steps for item in parse_items(step)]
    now = fetch_now()
    status, reason = end.status, end.reason
    values = {
        "status": status,
        "reason": reason[:_LONGEST_REASON],
        "finished_at": now,
        "next_attempt_at": None,
        **_count(items),
    }
    with transaction.atomic():
        raise_if_lost(lease)
        if not LoopRun.objects.filter(pk=run.pk, status=_STATUS.RUNNING).update(**values):
            raise LeaseLost(f"Run {run.pk} was ended by another worker.", todo="Nothing.")
        _reschedule(run, status, now)
        _note_end(run, end, now)
        if items:
            Provider.objects.filter(pk=run.provider_id).update(next_sync_at=now)
            counts = {name: values[name] for name in (*_PAST.values(), "not_as_wanted")}
            record_audit(actor, f"loop_run.{status}", run, reason=reason[:500], after=counts)
    run.refresh_from_db()
    crash_point("loop.ended")


def _note_end(run: LoopRun, end: End, now: datetime) -> None:
    if end.status not in _GOOD:
        draft = draft_stuck_run(run, end.status, end.reason[:_LONGEST_REASON], end.code)
    elif end.left_alone:
        draft = draft_left_alone(run, end.left_alone)
    else:
        resolve_finding(compute_loop_fingerprint(run.owner, run.provider), now)
        return
    open_finding(run.provider_id, draft, now, {run.owner.owner_id: run.owner_id})


def was_sent(run: LoopRun) -> bool:
    """Whether a change set of it was sent, or may have been."""
    return run.steps.exclude(status__in=(LoopStep.Status.STORED, LoopStep.Status.NOT_SENT)).exists()


def _count(items: list[StepItem]) -> dict[str, Any]:
    done = Counter(_PAST[item.action] for item in items if item.outcome == "verified")
    counts = {name: done[name] for name in _PAST.values()}
    return {**counts, "not_as_wanted": len(items) - done.total()}


def _reschedule(run: LoopRun, status: str, now: datetime) -> None:
    loop = Loop.objects.filter(pk=run.loop_id).first() if run.loop_id else None
    if loop is None:
        return
    failures = 0 if status in _GOOD else loop.consecutive_failures + 1
    next_run_at = (
        compute_next_try(now, loop.interval_seconds, failures)
        if failures
        else compute_next_sync(now, loop.interval_seconds)
    )
    if loop.requested_by or loop.declared_at > run.started_at:
        next_run_at = now  # somebody requested a run, or declared endpoints, since
    Loop.objects.filter(pk=loop.pk).update(consecutive_failures=failures, next_run_at=next_run_at)


def purge_loop_runs() -> int:
    """Delete runs that are older than the retention setting, some hundred rows a transaction; how many.

    Running ones and the last one of each loop stay; what was sent is in the audit trail."""
    before = fetch_now() - settings.DNSADMIN_RETENTION_RUNS
    last = LoopRun.objects.filter(loop__isnull=False).values("loop_id").order_by().annotate(last=Max("pk"))
    old = (
        LoopRun.objects.filter(started_at__lt=before)
        .exclude(status=LoopRun.Status.RUNNING)
        .exclude(pk__in=last.values("last"))
    )
    deleted = 0
    while pks := list(old.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        LoopRun.objects.filter(pk__in=pks).delete()
        deleted += len(pks)
    return deleted


def note_unreadable_manifests(owner: Owner, provider: Provider, problem: str) -> None:
    """Open the finding of this owner's loop; its next good run resolves it."""
    draft = draft_unreadable_manifests(owner, provider, problem)
    with transaction.atomic():
        open_finding(provider.pk, draft, fetch_now(), {owner.owner_id: owner.pk})
