"""Transfers and plans as a command tells them: for people in lines, for programs as JSON values."""

from typing import Any

from registry_app.models import Transfer, TransferItem
from registry_app.queries.transfer import needs_other_person, progress
from registry_app.transfer.plan.provider_plan import PlannedItem, ProviderPlan, Refusal

_MOST_LINES = 50


def build_transfer_report(transfer: Transfer, *, with_items: bool = False) -> dict[str, Any]:
    """A transfer as JSON values."""
    report: dict[str, Any] = {
        "id": transfer.public_id,
        "group": transfer.group,
        "kind": transfer.kind,
        "provider": transfer.provider.name,
        "source_owner": transfer.source_owner.owner_id if transfer.source_owner else None,
        "target_owner": transfer.target_owner.owner_id if transfer.target_owner else None,
        "status": transfer.status,
        "status_reason": transfer.status_reason,
        "approval_policy": transfer.approval_policy,
        "plan_fingerprint": transfer.plan_fingerprint,
        "item_count": transfer.item_count,
        "reason": transfer.reason,
        "ticket": transfer.ticket,
        "requested_by": transfer.requested_by_name,
        "approved_by": transfer.approved_by_name,
        "expires_at": transfer.expires_at,
    }
    if with_items:
        report["left_out"] = transfer.left_out
        about = ("name", "record_type", "set_identifier", "is_added")
        columns = (*about, "before", "after", "status", "status_reason")
        items = TransferItem.objects.filter(transfer=transfer).order_by("ordinal")
        report["items"] = list(items.values(*columns))
    return report


def describe_transfer(transfer: Transfer, *, with_items: bool = False) -> list[str]:
    """A transfer in lines."""
    lines = [
        (
            f"#{transfer.pk}  {transfer.public_id}  {transfer.get_kind_display()} at {transfer.provider}: "
            f"{transfer.status}"
        ),
        f"  {progress(transfer).summary}",
        f"  plan_fingerprint {transfer.plan_fingerprint}",
    ]
    if transfer.status_reason:
        lines.append(f"  {transfer.status_reason}")
    if with_items:
        items = TransferItem.objects.filter(transfer=transfer).order_by("ordinal")[: _MOST_LINES + 1]
        told = [f"  {item.status:14} {item} {item.status_reason}".rstrip() for item in items]
        lines += told[:_MOST_LINES] + _rest(transfer.item_count - _MOST_LINES)
    return lines


def describe_next_step(transfer: Transfer) -> list[str]:
    """How to go on with a transfer that waits for somebody's approval, in lines."""
    if transfer.status != Transfer.Status.REQUESTED:
        return []
    who = "another person" if needs_other_person(transfer) else "somebody who may approve"
    approve = f"dnsadmin_transfer approve {transfer.pk} --as USER --fingerprint {transfer.plan_fingerprint}"
    return [
        f"  Nothing was sent: #{transfer.pk} waits for {who}.",
        f"  To see it: dnsadmin_transfer show {transfer.pk}",
        f"  To approve it: {approve}",
    ]


def build_plan_report(plan: ProviderPlan) -> dict[str, Any]:
    """A plan as JSON values."""
    return {
        "provider": {"id": plan.provider.pk, "name": plan.provider.name},
        "fingerprint": plan.fingerprint,
        "approval_policy": plan.approval_policy,
        "confirmation_text": plan.confirmation_text,
        "verdict_counts": plan.verdict_counts,
        "refusals": [_build_refusal(refusal) for refusal in plan.refusals],
        "warnings": [_build_refusal(refusal) for refusal in plan.warnings],
        "items": [_build_item(item) for item in plan.items],
    }


def describe_plan(plan: ProviderPlan) -> list[str]:
    """A plan in lines."""
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(plan.verdict_counts.items()))
    counts = f"{len(plan.included)} to change, {len(plan.left_out)} left out"
    lines = [
        f"{plan.provider} (id {plan.provider.pk}): {counts}. At the next sync: {verdicts or 'nothing'}.",
        f"  fingerprint {plan.fingerprint}",
    ]
    lines += [f"  refused: {refusal}" for refusal in plan.refusals]
    lines += [f"  warning: {warning}" for warning in plan.warnings]
    if plan.confirmation_text:
        lines.append(f"  to confirm, add: --confirm {plan.confirmation_text!r}")
    told: list[str] = []
    for item in plan.items[:_MOST_LINES]:
        told += _describe_item(item)
    return lines + told + _rest(len(plan.items) - _MOST_LINES)


def _describe_item(item: PlannedItem) -> list[str]:
    where = " ".join(part for part in (item.name, item.record_type, item.set_identifier) if part)
    if item.problem:
        return [f"  ! {where}: {item.problem}"]
    added = ", added: same name" if item.is_added else ""
    return [
        f"  ~ {where} ({item.verdict}{added})",
        *(f"      - {_describe_endpoint(endpoint)}" for endpoint in item.before),
        *(f"      + {_describe_endpoint(endpoint)}" for endpoint in item.after),
    ]


def _describe_endpoint(endpoint: dict[str, Any]) -> str:
    store = f"row of registry profile {endpoint['store']}: " if endpoint.get("store") else ""
    name, record_type = endpoint.get("dnsName", ""), endpoint.get("recordType", "TXT")
    return f"{store}{name} {record_type} {' '.join(map(str, endpoint.get('targets') or ()))}"


def _build_item(item: PlannedItem) -> dict[str, Any]:
    return {
        "name": item.name,
        "record_type": item.record_type,
        "set_identifier": item.set_identifier,
        "before": item.before,
        "after": item.after,
        "verdict": item.verdict,
        "verdict_reason": item.verdict_reason,
        "is_added": item.is_added,
        "problem": item.problem,
        "problem_code": item.problem_code,
    }


def _build_refusal(refusal: Refusal) -> dict[str, str]:
    return {
        "code": refusal.code,
        "happened": refusal.happened,
        "now": refusal.now,
        "todo": refusal.todo,
    }


def _rest(count: int) -> list[str]:
    return [f"  ... and {count} more; --json has all of them."] if count > 0 else []
