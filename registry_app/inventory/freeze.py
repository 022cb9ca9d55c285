"""Freeze or pin a provider, an owner, names, or all; lift and delete freezes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, TypedDict
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.inventory.rows import fetch_row
from registry_app.models import Freeze, Owner, Provider
from registry_app.queries.freeze import may_freeze
from registry_app.queries.weekly_window import MOST_MINUTES, WEEKDAYS

MOST_NAMES = 1_000
_WINDOW = ("weekdays", "start", "minutes", "time_zone")


class Window(TypedDict):
    """A weekly window: `in_force` says on which side of it the freeze is in force (`Freeze.WindowUse`)."""

    in_force: str
    weekdays: Sequence[str]
    start: time
    minutes: int
    time_zone: str


def freeze(
    actor: Actor,
    *,
    provider_id: int | None,
    reason: str,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    kind: str = Freeze.Kind.FREEZE,
    owner: Owner | None = None,
    names: Sequence[str] = (),
    name_suffixes: Sequence[str] = (),
    window: Window | None = None,
) -> Freeze:
    """Store a freeze or a pin, from now, or from `starts_at`, of what matches all that is given. Without a
    provider it is for all providers.

    Raises NotAllowed, NotFound, or InvalidRequest with the fields.
    """
    row = Freeze(
        kind=kind,
        provider=None if provider_id is None else fetch_row(Provider, provider_id),
        owner=owner,
        names=list(names),
        name_suffixes=list(name_suffixes),
        reason=reason,
        starts_at=starts_at or fetch_now(),
        ends_at=ends_at,
        created_by=actor.name,
        **_read_window(window),
    )
    _raise_if_invalid(row)
    _raise_if_may_not_freeze(actor, row)
    with transaction.atomic():
        row.save(force_insert=True)
        record_audit(actor, "freeze.started", row, reason=reason, after=_audit_values(row))
    return row


def lift_freeze(actor: Actor, freeze_id: int, *, reason: str = "") -> Freeze:
    """End a freeze now (one that has not begun ends as it starts). Raises StateMoved if it is over."""
    row = fetch_row(Freeze, freeze_id)
    _raise_if_may_not_freeze(actor, row)
    now = max(fetch_now(), row.starts_at)
    with transaction.atomic():
        still_on = Freeze.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now), pk=freeze_id)
        if not still_on.update(ends_at=now):
            raise StateMoved("This freeze has already ended.", todo="There is nothing to do.")
        before = None if row.ends_at is None else row.ends_at.isoformat()
        record_audit(
            actor,
            "freeze.lifted",
            row,
            reason=reason,
            before={"ends_at": before},
            after={"ends_at": now.isoformat()},
        )
    row.refresh_from_db()
    return row


def delete_freeze(actor: Actor, freeze_id: int) -> None:
    """Delete a freeze that has not started. Raises NotAllowed, NotFound, or StateMoved once it has started:
    what was in force stays in the list."""
    row = fetch_row(Freeze, freeze_id)
    _raise_if_may_not_freeze(actor, row)
    with transaction.atomic():
        record_audit(actor, "freeze.deleted", row, before={**_audit_values(row), "reason": row.reason})
        deleted, _ = Freeze.objects.filter(pk=freeze_id, starts_at__gt=fetch_now()).delete()
        if not deleted:
            raise StateMoved(
                f"This freeze started at {row.starts_at:%Y-%m-%d %H:%M} UTC and cannot be deleted any more.",
                todo="Lift it to end it now.",
            )


def _read_window(window: Window | None) -> dict[str, Any]:
    """The columns of a window. Raises InvalidRequest."""
    if window is None:
        return {}
    weekdays = [each for each in WEEKDAYS if each in window["weekdays"]]
    problems = {}
    if not weekdays or len(weekdays) != len(set(window["weekdays"])):
        problems["weekdays"] = [f"Choose one or more of {', '.join(WEEKDAYS)}."]
    if not 0 < window["minutes"] <= MOST_MINUTES:
        problems["minutes"] = [f"Choose 1 to {MOST_MINUTES} minutes, a week."]
    if window["time_zone"] not in available_timezones():
        problems["time_zone"] = ["Give the name of a time zone, such as Europe/Berlin or UTC."]
    if problems:
        fields = {f"window.{name}": texts for name, texts in problems.items()}
        raise InvalidRequest("The weekly window is not valid.", fields=fields)
    values: Mapping[str, Any] = {**window, "weekdays": weekdays}
    return {"window_use": window["in_force"], **{f"window_{name}": values[name] for name in _WINDOW}}


def _raise_if_invalid(row: Freeze) -> None:
    if not row.reason.strip():
        raise InvalidRequest("A freeze needs a reason.", fields={"reason": ["Give a reason."]})
    if row.ends_at is not None and row.ends_at <= row.starts_at:
        raise InvalidRequest(
            "The freeze would end before it starts.", fields={"ends_at": ["Choose a later end."]}
        )
    for field in ("names", "name_suffixes"):
        if len(getattr(row, field)) > MOST_NAMES:
            raise InvalidRequest("These are too many names.", fields={field: [f"At most {MOST_NAMES}."]})
    try:
        row.clean()
    except ValidationError as error:
        raise InvalidRequest("The names are not valid.", fields=error.message_dict) from error


def _raise_if_may_not_freeze(actor: Actor, row: Freeze) -> None:
    """Raise NotAllowed unless `actor` operates all that it is of, or administers (for all providers)."""
    if not may_freeze(actor, row):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not freeze {row.subject}.",
            todo="Ask an administrator, or somebody with a grant to operate all of it.",
        )


def _audit_values(row: Freeze) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": row.kind,
        "provider": None if row.provider is None else row.provider.name,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": None if row.ends_at is None else row.ends_at.isoformat(),
    }
    if row.is_narrowed:
        owner = None if row.owner is None else row.owner.owner_id
        values |= {"owner": owner, "names": row.names, "name_suffixes": row.name_suffixes}
    if row.window is not None:
        values["window"] = row.window
    return values
