"""Request a transfer, or the undo of one: from a reviewed plan to rows that wait for approval."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import (
    ConfirmationNeeded,
    DnsadminError,
    InvalidRequest,
    NotAllowed,
    RefusedBySafety,
    StateMoved,
)
from registry_app.models import Provider, Transfer, TransferItem
from registry_app.queries.transfer import POLICY_APPROVES, UNDOABLE
from registry_app.reconcile.rows.bulk import Row, insert_rows, json_text
from registry_app.transfer.plan.preview import preview_transfer, raise_if_unknown_intent
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.refusals import is_confirmed
from registry_app.transfer.plan.transfer_request import TransferRequest
from registry_app.transfer.transfer_row import advance, compute_lock_key, find_transfer
from registry_app.transfer.undo_plan import build_undo_plan

_ROWS = 1_000
_ITEM_COLUMNS = (
    "transfer_id",
    "ordinal",
    "batch",
    "name",
    "record_type",
    "set_identifier",
    "record_before",
    "before",
    "after",
    "owner_before",
    "is_added",
    "verdict",
    "verdict_reason",
    "status",
    "status_reason",
    "lock_key",
)
_MOST_LEFT_OUT = 200
_NOT_REVIEWED = (
    "It was requested without the fingerprint of its plan, so somebody must review and approve it."
)
_MAY_NOT_APPLY = "It was requested with a token without the scope apply, so somebody must approve it."


@dataclass(frozen=True)
class _Purpose:
    """What a request states beside its plan."""

    kind: str
    reason: str
    group: uuid.UUID
    target_intent: str = Transfer.TargetIntent.UNKNOWN
    ticket: str = ""
    confirmation: str = ""
    undo_of: Transfer | None = None
    is_reviewed: bool = False


def request_transfer(actor: Actor, request: TransferRequest) -> list[Transfer]:
    """Store one transfer for each provider of the request, all of them or none.

    The plan is computed again from the mirror. A request without fingerprints waits for an approval, whatever
    the provider's policy. Raises StateMoved if the plan has another fingerprint than the request, or if
    another request was first; NotAllowed, RefusedBySafety (the first refusal, or a missing confirmation),
    InvalidRequest, NotFound.
    """
    if not request.reason.strip():
        raise InvalidRequest("The request has no reason.", fields={"reason": ["Say why."]})
    plans = preview_transfer(actor, request)
    _raise_if_moved(request.fingerprints, plans)
    _raise_if_refused(plans, request.confirmation)
    purpose = _Purpose(
        kind=request.kind,
        reason=request.reason.strip(),
        group=uuid.uuid4(),
        target_intent=request.target_intent,
        ticket=request.ticket.strip()[:200],
        confirmation=request.confirmation.strip()[:255],
        is_reviewed=bool(request.fingerprints),
    )
    stored = _store_all(actor, plans, purpose)
    crash_point("transfer.requested")
    return stored


def _raise_if_moved(reviewed: Mapping[int, str], plans: Sequence[ProviderPlan]) -> None:
    """Raise StateMoved unless these plans, by provider, are the ones that were reviewed, if any were."""
    if reviewed and dict(reviewed) != {plan.provider.pk: plan.fingerprint for plan in plans}:
        raise StateMoved(
            "The plan changed since you reviewed it: the mirror or the request is different now.",
            todo="Check the new preview, and request again if it is still right.",
            code="plan_moved",
        )


def _raise_if_refused(plans: Sequence[ProviderPlan], typed: str) -> None:
    """Raise the first refusal as the error it is, or ConfirmationNeeded if the text was not typed."""
    for refusal in (refusal for plan in plans for refusal in plan.refusals if not refusal.is_warning):
        kind: type[DnsadminError] = NotAllowed if refusal.code == NotAllowed.code else RefusedBySafety
        raise kind(refusal.happened, now=refusal.now, todo=refusal.todo, code=refusal.code)
    if not is_confirmed(plans[0].confirmation_text, typed):
        raise ConfirmationNeeded(
            "The next sync of the new owner may delete some of these record sets, or its effect is unknown.",
            plans[0].confirmation_text,
        )


def _store_all(actor: Actor, plans: Sequence[ProviderPlan], purpose: _Purpose) -> list[Transfer]:
    try:
        with transaction.atomic():
            return [_store_transfer(actor, plan, purpose) for plan in plans]
    except IntegrityError as error:
        raise StateMoved(
            "Another transfer of some of these names was requested a moment ago.",
            now="This request was not stored.",
            todo="Look at the open transfers, or ask for a new preview.",
        ) from error


@dataclass(frozen=True)
class UndoRequest:
    """A request to undo a transfer. `fingerprint` is that of the reviewed preview; without it the undo waits
    for an approval. `target_intent` is what the former owner's ExternalDNS wants of the record
    sets."""

    reason: str = ""
    confirmation: str = ""
    fingerprint: str = ""
    target_intent: str = Transfer.TargetIntent.UNKNOWN


def preview_undo(
    actor: Actor, public_id: UUID | str | int, *, target_intent: str = Transfer.TargetIntent.UNKNOWN
) -> ProviderPlan:
    """What an undo would write, and why it may be refused. Reads only.

    Raises NotFound, StateMoved, InvalidRequest (an unknown intent).
    """
    raise_if_unknown_intent(target_intent)
    return build_undo_plan(actor, _find_undoable(public_id), target_intent)


def request_undo(actor: Actor, public_id: UUID | str | int, asked: UndoRequest) -> Transfer:
    """Store a transfer that restores every verified item, under the provider's approval policy.

    Nothing is written where the provider shows something else than what the original wrote (I9). The
    original is rolled back once the undo is verified. Raises NotFound, StateMoved, InvalidRequest,
    NotAllowed, RefusedBySafety.
    """
    original = _find_undoable(public_id)
    if not asked.reason.strip():
        raise InvalidRequest("The undo has no reason.", fields={"reason": ["Say why."]})
    raise_if_unknown_intent(asked.target_intent)
    plan = build_undo_plan(actor, original, asked.target_intent)
    _raise_if_moved({original.provider_id: asked.fingerprint} if asked.fingerprint else {}, [plan])
    _raise_if_refused([plan], asked.confirmation)
    purpose = _Purpose(
        kind=Transfer.Kind.UNDO,
        reason=asked.reason.strip(),
        group=uuid.uuid4(),
        target_intent=asked.target_intent,
        ticket=original.ticket,
        confirmation=asked.confirmation.strip()[:255],
        undo_of=original,
        is_reviewed=bool(asked.fingerprint),
    )
    return _store_all(actor, [plan], purpose)[0]


def _find_undoable(public_id: UUID | str | int) -> Transfer:
    original = find_transfer(public_id)
    if original.status not in UNDOABLE:
        raise StateMoved(
            f"A transfer that is {original.get_status_display().lower()} cannot be undone.",
            todo="Only a verified or failed transfer can be undone.",
            code="not_undoable",
        )
    return original


def _store_transfer(actor: Actor, plan: ProviderPlan, purpose: _Purpose) -> Transfer:
    """Insert a transfer with its items; where the provider asks for no approval it is approved at once.

    Even then somebody must approve it if the request has no fingerprint (only what was reviewed is applied),
    or comes from a token without the scope apply.

    Must run inside a transaction. Raises IntegrityError where a name is locked by another open transfer.
    """
    transfer = _insert(actor, plan, purpose)
    crash_point("transfer.storing")
    after = _describe_for_audit(transfer, plan)
    record_audit(actor, "transfer.requested", transfer, reason=purpose.reason, after=after)
    if plan.approval_policy != Provider.ApprovalPolicy.NONE:
        return transfer
    if purpose.is_reviewed and actor.has_scope("apply"):
        return _approve_by_policy(transfer)
    why = _NOT_REVIEWED if not purpose.is_reviewed else _MAY_NOT_APPLY
    Transfer.objects.filter(pk=transfer.pk).update(status_reason=why)
    transfer.refresh_from_db()
    return transfer


def _insert(actor: Actor, plan: ProviderPlan, purpose: _Purpose) -> Transfer:
    transfer = Transfer.objects.create(
        group=purpose.group,
        kind=purpose.kind,
        provider=plan.provider,
        source_owner=plan.source_owner,
        target_owner=plan.target_owner,
        undo_of=purpose.undo_of,
        target_intent=purpose.target_intent,
        confirmation=purpose.confirmation,
        reason=purpose.reason,
        ticket=purpose.ticket,
        preconditions=plan.preconditions,
        plan_fingerprint=plan.fingerprint,
        approval_policy=plan.approval_policy,
        requested_by_id=actor.user_id,
        requested_by_issuer_id=actor.answerer_id,
        requested_by_name=actor.name[:200],
        item_count=len(plan.included),
        left_out=[
            {"name": item.name, "type": item.record_type, "problem": item.problem}
            for item in plan.left_out[:_MOST_LEFT_OUT]
        ],
        expires_at=fetch_now() + settings.DNSADMIN_TRANSFER_EXPIRY,
    )
    rows = _iterate_item_rows(transfer, plan)
    while some := list(islice(rows, _ROWS)):
        insert_rows(TransferItem, _ITEM_COLUMNS, some)
    return transfer


def _describe_for_audit(transfer: Transfer, plan: ProviderPlan) -> dict[str, Any]:
    """What the audit trail records of it."""
    return {
        "status": transfer.status,
        "kind": transfer.kind,
        "provider": plan.provider.name,
        "source": plan.source_owner.owner_id if plan.source_owner else None,
        "target": plan.target_owner.owner_id if plan.target_owner else None,
        "items": transfer.item_count,
        "left_out": len(plan.left_out),
        "fingerprint": plan.fingerprint,
        "ticket": transfer.ticket,
    }


def _iterate_item_rows(transfer: Transfer, plan: ProviderPlan) -> Iterator[Row]:
    """The values of _ITEM_COLUMNS for each item."""
    locked: set[str] = set()
    for ordinal, item in enumerate(plan.included):
        # The first item of each name has the lock, for all of them.
        lock_key = None if item.name in locked else compute_lock_key(plan.provider.pk, item.name)
        locked.add(item.name)
        yield (
            transfer.pk,
            ordinal,
            item.batch,
            item.name,
            item.record_type,
            item.set_identifier,
            None if item.record_before is None else json_text(item.record_before),
            json_text(item.before),
            json_text(item.after),
            item.source_owner_id,
            item.is_added,
            item.verdict,
            item.verdict_reason,
            TransferItem.Status.PENDING.value,
            "",
            lock_key,
        )


def _approve_by_policy(transfer: Transfer) -> Transfer:
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED],
        after=Transfer.Status.APPROVED,
        actor=SYSTEM,
        reason=f"{transfer.provider.name} requires no approval.",
        approved_by_name=f"{POLICY_APPROVES}{transfer.provider.name}"[:200],
        approved_fingerprint=transfer.plan_fingerprint,
        approved_at=fetch_now(),
    )
