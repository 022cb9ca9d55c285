"""A looser approval policy: requested by one administrator, confirmed by another.

Without another administrator it is effective after a day, with a finding until then. A stricter policy is
effective at once.
"""

from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, NotFound, StateMoved
from registry_app.inventory.rows import raise_if_not_administrator
from registry_app.models import PROVIDER_SECRETS, ApprovalChange, Provider
from registry_app.queries.actor import fetch_person
from registry_app.queries.approval_change import (
    find_pending_change,
    find_reason_not_to_confirm,
    has_other_administrator,
)
from registry_app.reconcile.find_subject import find_provider
from registry_app.reconcile.findings.approvals import compute_approval_fingerprint, draft_approval_loosened
from registry_app.reconcile.store_findings import open_finding, resolve_finding

_STATUS = ApprovalChange.Status


def request_looser_approval(actor: Actor, provider: Provider, policy: str) -> ApprovalChange:
    """Store a requested looser policy; the provider's policy stays as it is. Inside the caller's transaction.

    A pending request of the same policy stays as it is, and one of another policy ends. Raises StateMoved if
    somebody was first.
    """
    pending = find_pending_change(provider.pk)
    if pending is not None and pending.to_policy == policy:
        return pending
    if pending is not None:
        drop_pending_change(actor, pending, "Another policy is asked for.")
    now = fetch_now()
    waits = None if has_other_administrator(actor) else now + settings.DNSADMIN_LOOSER_POLICY_WAITS
    try:
        with transaction.atomic():
            change = ApprovalChange.objects.create(
                provider=provider,
                from_policy=provider.approval_policy,
                to_policy=policy,
                asked_by_id=actor.user_id,
                asked_by_issuer_id=actor.answerer_id,
                asked_by_name=actor.name[:200],
                asked_at=now,
                effective_at=waits,
            )
    except IntegrityError as error:
        raise StateMoved("This was requested a moment ago.", todo="Open the provider.") from error
    open_finding(provider.pk, draft_approval_loosened(change), now)
    after = {"approval_policy": policy, "effective_at": waits.isoformat() if waits else None}
    before = {"approval_policy": provider.approval_policy}
    record_audit(actor, "provider.looser_approval_asked", provider, before=before, after=after)
    return change


def confirm_looser_approval(actor: Actor, provider_id: int) -> Provider:
    """Make a pending looser policy effective, as another administrator than the one who requested it.

    Raises NotAllowed, NotFound, StateMoved.
    """
    raise_if_not_administrator(actor, "providers")
    change = _fetch_pending(provider_id)
    problem = find_reason_not_to_confirm(actor, change)
    if problem:
        raise NotAllowed(problem, todo="Ask another administrator to confirm it.", code="other_person_needed")
    return _make_effective(actor, change, fetch_now())


def cancel_looser_approval(actor: Actor, provider_id: int) -> Provider:
    """Drop a pending looser policy. Any administrator may. Raises NotAllowed, NotFound, StateMoved."""
    raise_if_not_administrator(actor, "providers")
    change = _fetch_pending(provider_id)
    with transaction.atomic():
        drop_pending_change(actor, change)
    return Provider.objects.get(pk=provider_id)


def drop_pending_change(actor: Actor, change: ApprovalChange, reason: str = "") -> None:
    """From pending to cancelled, in the caller's transaction. Raises StateMoved."""
    now = fetch_now()
    _end(change, _STATUS.CANCELLED, actor, now)
    before = {"pending": change.to_policy}
    record_audit(actor, "provider.looser_approval_cancelled", change.provider, reason=reason, before=before)


def apply_due_looser_approvals() -> int:
    """Make looser policies effective that waited a day; drop those whose requester administers no more."""
    now = fetch_now()
    rows = ApprovalChange.objects.select_related("provider").defer(*PROVIDER_SECRETS)
    due = rows.filter(status=_STATUS.PENDING, effective_at__lte=now)
    applied = 0
    for change in due.order_by("pk")[:100]:
        try:
            if fetch_person(change.asked_by_id, change.asked_by_name).is_superuser:
                _make_effective(SYSTEM, change, now)
                applied += 1
            else:
                with transaction.atomic():
                    drop_pending_change(
                        SYSTEM, change, "The person who requested it is no longer an administrator."
                    )
        except StateMoved:
            continue  # somebody confirmed or cancelled it meanwhile
    return applied


def _make_effective(actor: Actor, change: ApprovalChange, now: datetime) -> Provider:
    with transaction.atomic():
        _end(change, _STATUS.EFFECTIVE, actor, now)
        moved = Provider.objects.filter(pk=change.provider_id, approval_policy=change.from_policy).update(
            approval_policy=change.to_policy, updated_at=now
        )
        if not moved:
            raise StateMoved("The approval policy was changed in the meantime.", todo="Open the provider.")
        record_audit(
            actor,
            "provider.looser_approval_effective",
            change.provider,
            reason=f"Requested by {change.asked_by_name}.",
            before={"approval_policy": change.from_policy},
            after={"approval_policy": change.to_policy},
        )
    return Provider.objects.get(pk=change.provider_id)


def _end(change: ApprovalChange, status: str, actor: Actor, now: datetime) -> None:
    pending = ApprovalChange.objects.filter(pk=change.pk, status=_STATUS.PENDING)
    if not pending.update(status=status, ended_at=now, ended_by_name=actor.name[:200]):
        raise StateMoved("This was confirmed or cancelled a moment ago.", todo="Open the provider again.")
    resolve_finding(compute_approval_fingerprint(change.provider_id), now)


def _fetch_pending(provider_id: int) -> ApprovalChange:
    change = find_pending_change(find_provider(provider_id).pk)
    if change is None:
        raise NotFound("No looser approval policy is pending here.", todo="Open the provider.")
    return change
