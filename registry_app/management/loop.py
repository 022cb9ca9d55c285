"""What `dnsadmin_loop` prints of plans and runs: lines for people, JSON values for programs."""

from collections.abc import Sequence
from typing import Any

from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.errors import DnsadminError
from registry_app.loop.plan_loop import LoopPlan, list_keys
from registry_app.loop.step_changes import parse_items
from registry_app.models import LoopRun

_MOST_LINES = 200


def build_plan_report(plan: LoopPlan, refusals: Sequence[DnsadminError] = ()) -> dict[str, Any]:
    """A plan as JSON values."""
    changes = plan.changes
    return {
        "policy": plan.settings.policy.value,
        "managed_types": sorted(plan.settings.managed_types),
        "creates": [_build_endpoint(each) for each in changes.creates],
        "updates": [
            {"from": _build_endpoint(each.current.endpoint), "to": _build_endpoint(each.wanted)}
            for each in changes.updates
        ],
        "deletes": [_build_endpoint(each.endpoint) for each in changes.deletes],
        "left_alone": [{**_build_key(each.key), "reason": each.reason} for each in changes.left_alone],
        "excess": plan.excess,
        "confirmation_text": plan.confirmation_text,
        "refusals": [{"code": each.code, "happened": each.happened, "todo": each.todo} for each in refusals],
    }


def describe_plan(
    plan: LoopPlan, refusals: Sequence[DnsadminError] = (), *, is_confirmed: bool = False
) -> list[str]:
    """A plan in lines. `is_confirmed`: the confirmation that it needs was given."""
    changes = plan.changes
    lines = [f"  + {_describe(each)}" for each in changes.creates]
    lines += [
        f"  ~ {_describe(each.current.endpoint)} → {_describe_value(each.wanted)}" for each in changes.updates
    ]
    lines += [f"  - {_describe(each.endpoint)}" for each in changes.deletes]
    lines += [f"  = {_describe_key(each.key)}: {each.reason}" for each in changes.left_alone]
    lines = [*_shorten(lines), _count(plan), *(f"Would be refused: {each}" for each in refusals)]
    if plan.excess and not is_confirmed:
        lines.append(f"{plan.excess} To do it anyway, add: --confirm {plan.confirmation_text!r}")
    return lines


def build_run_report(run: LoopRun) -> dict[str, Any]:
    """A run as JSON values."""
    return {
        "id": run.public_id,
        "owner": run.owner.owner_id,
        "provider": run.provider.name,
        "source": run.source,
        "status": run.status,
        "reason": run.reason,
        "confirmation_text": run.confirmation_text if run.status == LoopRun.Status.REFUSED else "",
        "created": run.created,
        "updated": run.updated,
        "deleted": run.deleted,
        "not_as_wanted": run.not_as_wanted,
        "outcomes": [
            {**_build_key(item.key), "action": item.action, "outcome": item.outcome, "reason": item.reason}
            for step in run.steps.order_by("ordinal")
            for item in parse_items(step)
        ],
    }


def describe_run(run: LoopRun) -> list[str]:
    """A run in lines."""
    counts = f"{run.created} created, {run.updated} updated, {run.deleted} deleted"
    if run.not_as_wanted:
        counts += f", {run.not_as_wanted} not as wanted"
    lines = [f"{run.get_status_display()}: {counts}. {run.reason}".rstrip()]
    for step in run.steps.order_by("ordinal"):
        odd = (item for item in parse_items(step) if item.outcome != "verified")
        lines += [
            f"  ! {item.action} {_describe_key(item.key)}: {item.reason or step.answer}" for item in odd
        ]
    return _shorten(lines)


def _count(plan: LoopPlan) -> str:
    changes = plan.changes
    counts = (
        f"{len(changes.creates)} to create, {len(changes.updates)} to update, "
        f"{len(changes.deletes)} to delete, {len(changes.left_alone)} left alone."
    )
    return counts if any(list_keys(changes)) else f"Nothing to do. {counts}"


def _build_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "name": endpoint.dns_name,
        "record_type": endpoint.record_type,
        "set_identifier": endpoint.set_identifier,
        "targets": list(endpoint.targets),
        "ttl": endpoint.record_ttl,
        "provider_specific": [[each.name, each.value] for each in endpoint.provider_specific],
    }


def _build_key(key: EndpointKey) -> dict[str, str]:
    return {"name": key.name, "record_type": key.record_type, "set_identifier": key.set_identifier}


def _describe(endpoint: Endpoint) -> str:
    where = " ".join(filter(None, (endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)))
    return f"{where} {_describe_value(endpoint)}"


def _describe_value(endpoint: Endpoint) -> str:
    parts = [" ".join(endpoint.targets)]
    if endpoint.record_ttl:
        parts.append(f"(TTL {endpoint.record_ttl})")
    if endpoint.provider_specific:
        parts.append(", ".join(f"{each.name}={each.value}" for each in endpoint.provider_specific))
    return " ".join(parts)


def _describe_key(key: EndpointKey) -> str:
    return " ".join(filter(None, key))


def _shorten(lines: list[str]) -> list[str]:
    rest = len(lines) - _MOST_LINES
    return lines[:_MOST_LINES] + ([f"  ... and {rest} more; --json has all of them."] if rest > 0 else [])
