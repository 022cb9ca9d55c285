"""A reviewed plan as rows."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.models import Provider, Transfer, TransferItem
from registry_app.queries.transfer import POLICY_APPROVES
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.transfer_row import advance, compute_lock_key

_ROWS = 500
_MOST_LEFT_OUT = 200
_NOT_REVIEWED = (
    "It was requested without the fingerprint of its plan, so somebody must review and approve it."
)
_MAY_NOT_APPLY = "It was requested with a token without the scope apply, so somebody must approve it."


@dataclass(frozen=True)
class Purpose:
    """What a request says beside its plan."""

    kind: str
    reason: str
    group: uuid.UUID
    target_intent: str = Transfer.TargetIntent.UNKNOWN
    ticket: str = ""
    confirmation: str = ""
    undo_of: Transfer | None = None
    is_reviewed: bool = False


def store_transfer(actor: Actor, plan: ProviderPlan, purpose: Purpose) -> Transfer:
    """Insert a transfer with its items; where the provider asks for no approval it is approved at once.

    Somebody has to approve it all the same where the request did not name the plan it is for (what was
    reviewed is what is applied), and where a token asks that may plan and not apply.

    Must run inside a transaction. Raises IntegrityError where a name is locked by another open transfer.
    """
    transfer = _insert(actor, plan, purpose)
    crash_point("transfer.storing")
    after = _describe(transfer, plan)
    record_audit(actor, "transfer.requested", transfer, reason=purpose.reason, after=after)
    if plan.approval_policy != Provider.ApprovalPolicy.NONE:
        return transfer
    if purpose.is_reviewed and actor.has_scope("apply"):
        return _approve_by_policy(transfer)
    why = _NOT_REVIEWED if not purpose.is_reviewed else _MAY_NOT_APPLY
    Transfer.objects.filter(pk=transfer.pk).update(status_reason=why)
    transfer.refresh_from_db()
    return transfer


def _insert(actor: Actor, plan: ProviderPlan, purpose: Purpose) -> Transfer:
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
    TransferItem.objects.bulk_create(_build_items(transfer, plan), batch_size=_ROWS)
    return transfer


def _describe(transfer: Transfer, plan: ProviderPlan) -> dict[str, Any]:
    """What the audit trail says of it."""
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


def _build_items(transfer: Transfer, plan: ProviderPlan) -> list[TransferItem]:
    locked: set[str] = set()
    rows: list[TransferItem] = []
    for ordinal, item in enumerate(plan.included):
        # The first item of each name holds the lock; the others are covered by it.
        lock_key = None if item.name in locked else compute_lock_key(plan.provider.pk, item.name)
        locked.add(item.name)
        rows.append(
            TransferItem(
                transfer=transfer,
                ordinal=ordinal,
                batch=item.batch,
                name=item.name,
                record_type=item.record_type,
                set_identifier=item.set_identifier,
                record_before=item.record_before,
                before=item.before,
                after=item.after,
                owner_before=item.source_owner_id,
                is_added=item.is_added,
                verdict=item.verdict,
                verdict_reason=item.verdict_reason,
                lock_key=lock_key,
            )
        )
    return rows


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
