"""What `dnsadmin_guard` prints of guard endpoints and of what they decided: lines for people, JSON values for
programs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from registry_app.models import DesiredEndpoint, DesiredSet, GuardDecision, GuardEndpoint, HeldDelete
from registry_app.queries.guard_endpoint import find_desired_set, is_stale

_SHOWN_NAMES = 20


def describe_guard_endpoint(row: GuardEndpoint, now: datetime) -> dict[str, Any]:
    """A guard endpoint, and what is known of what its instance wants, as JSON values."""
    return {
        "id": row.pk,
        "slug": row.slug,
        "mode": row.mode,
        "owner": row.instance.owner.owner_id,
        "instance": row.instance.name,
        "provider": row.provider.name,
        "username": row.username,
        "networks": row.networks,
        "deadline_seconds": row.deadline_seconds,
        "max_body_bytes": row.max_body_bytes,
        "has_own_view": row.has_own_view,
        "refuses_batch": row.refuses_batch,
        "shared_names": row.shared_names,
        "delete_percent": row.delete_percent,
        "most_deletes": row.most_deletes,
        "window_seconds": row.window_seconds,
        "first_changes_at": row.first_changes_at,
        "desired_set": _describe_set(find_desired_set(row), now),
    }


def _describe_set(desired: DesiredSet | None, now: datetime) -> dict[str, Any] | None:
    if desired is None:
        return None
    return {
        "endpoint_count": desired.endpoint_count,
        "set_aside": desired.set_aside,
        "first_seen_at": desired.first_seen_at,
        "last_seen_at": desired.last_seen_at,
        "seen_count": desired.seen_count,
        "interval_seconds": desired.interval_seconds,
        "is_stale": is_stale(desired, now),
    }


def describe_desired(row: DesiredEndpoint) -> dict[str, Any]:
    """One desired endpoint as JSON values."""
    names = ("name", "record_type", "set_identifier", "targets", "ttl", "provider_specific", "resource")
    return {name: getattr(row, name) for name in (*names, "first_seen_at", "changed_at")}


def format_guard_endpoint(shown: dict[str, Any]) -> str:
    """A guard endpoint in a line."""
    return (
        f"{shown['slug']}  {shown['mode']}  {shown['instance']} of {shown['owner']} at {shown['provider']}  "
        f"{_format_set(shown['desired_set'])}"
    )


def _format_set(desired: dict[str, Any] | None) -> str:
    if desired is None:
        return "posted nothing yet"
    stale = ", stale" if desired["is_stale"] else ""
    aside = f", {desired['set_aside']} unreadable" if desired["set_aside"] else ""
    posted = desired["last_seen_at"].isoformat(timespec="seconds")
    noun = "endpoint" if desired["endpoint_count"] == 1 else "endpoints"
    return f"{desired['endpoint_count']} {noun}{aside}, posted {posted}{stale}"


def format_desired(about: dict[str, Any], endpoints: list[dict[str, Any]]) -> Iterator[str]:
    """A desired set in lines."""
    yield format_guard_endpoint(about)
    for each in endpoints:
        identifier = f" ({each['set_identifier']})" if each["set_identifier"] else ""
        targets = ", ".join(map(str, each["targets"]))
        since = each["changed_at"].isoformat(timespec="seconds")
        yield f"  {each['name']} {each['record_type']}{identifier}  {targets}  since {since}"


def describe_decision(row: GuardDecision) -> dict[str, Any]:
    """One decision as JSON values."""
    names = ("outcome", "rule", "name", "set_identifier", "asked", "reason", "first_at", "last_at", "count")
    return {"id": row.pk, **{name: getattr(row, name) for name in names}}


def describe_held(row: HeldDelete) -> dict[str, Any]:
    """One held delete as JSON values."""
    asked = (
        "status",
        "rule",
        "name",
        "set_identifier",
        "record_types",
        "reason",
        "asked_at",
        "last_asked_at",
    )
    names = (*asked, "count", "decided_by", "decided_at", "decision_reason")
    about = {"id": row.pk, "guard_endpoint": row.guard_endpoint.slug}
    return {**about, **{name: getattr(row, name) for name in names}}


def format_counts(mode: str, counts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """How often each rule decided what, in lines."""
    yield f"mode {mode}"
    for each in counts:
        yield f"  {each['outcome']}  {each['rule']}  {each['count']} times"
    if not counts:
        yield "  Nothing was refused or held."


def format_decision(shown: dict[str, Any]) -> str:
    """A decision in a line."""
    last = shown["last_at"].isoformat(timespec="seconds")
    return (
        f"{_format_name(shown)}  {shown['outcome']}  {shown['rule']}  {shown['asked']}  {shown['reason']}  "
        f"{shown['count']} times, last {last}"
    )


def format_held(shown: dict[str, Any]) -> str:
    """A held delete in a line."""
    decided = f"  by {shown['decided_by']}" if shown["decided_by"] else ""
    types = ",".join(map(str, shown["record_types"]))
    return (
        f"{shown['id']}  {shown['guard_endpoint']}  {_format_name(shown)}  {types}  "
        f"{shown['status']}{decided}  {shown['rule']}  {shown['reason']}"
    )


def format_decided(shown: dict[str, Any]) -> Iterator[str]:
    """What was decided about held deletes, in lines."""
    yield f"{shown['count']} {shown['status']}."
    for name in shown["names"][:_SHOWN_NAMES]:
        yield f"  {name}"
    if shown["count"] > len(shown["names"][:_SHOWN_NAMES]):
        yield "  and more"
    if shown["status"] == HeldDelete.Status.RELEASED:
        yield "Nothing was sent. The instance deletes what is released at its next sync."


def _format_name(shown: dict[str, Any]) -> str:
    return f"{shown['name']} ({shown['set_identifier']})" if shown["set_identifier"] else str(shown["name"])
