"""A person releases or keeps deletes that instances asked for and that are held."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.models import Grant, GuardEndpoint, HeldDelete
from registry_app.queries.access import fetch_reach, find_names_out_of_reach
from registry_app.queries.guard_endpoint import build_below_query, list_guard_endpoints

MOST_IDS = 1_000
_MOST_NAMED = 100
_MOST_IN_A_TEXT = 5
_ROWS = 500

Status = HeldDelete.Status


@dataclass(frozen=True)
class HeldSelection:
    """Which held deletes: those of `ids`; or all of a guard endpoint, with `name_suffix` those at or below
    that name. `expected_count` is how many of them a person saw; None where nobody looked."""

    ids: Sequence[int] = ()
    guard_endpoint: GuardEndpoint | None = None
    name_suffix: str = ""
    expected_count: int | None = None


@dataclass(frozen=True)
class DecidedDeletes:
    """What was decided: how many, and the first of their names."""

    status: Status
    count: int
    names: list[str]


class _Waiting(NamedTuple):
    """One held delete that a selection names."""

    pk: int
    name: str
    status: str
    guard_endpoint_id: int


def release_held_deletes(actor: Actor, selection: HeldSelection, *, reason: str = "") -> DecidedDeletes:
    """Let the instance delete them, also those that were kept. Nothing is sent: the instance deletes them
    when it asks again, at its next sync.

    Raises InvalidRequest, NotFound, NotAllowed, or StateMoved if one of them does not wait any more.
    """
    return _decide(actor, selection, HeldDelete.STOPPING, Status.RELEASED, reason)


def keep_held_deletes(actor: Actor, selection: HeldSelection, *, reason: str = "") -> DecidedDeletes:
    """Do not let the instance delete them, also those that were released and are not deleted yet: they wait
    no more, and stay until somebody releases them or the instance wants them again. Raises as
    `release_held_deletes`."""
    return _decide(actor, selection, HeldDelete.KEEPABLE, Status.KEPT, reason)


def list_selected(selection: HeldSelection, statuses: Collection[str]) -> "QuerySet[HeldDelete]":
    """The held deletes of a whole guard endpoint, or below a name of it, in one of these statuses."""
    rows = HeldDelete.objects.filter(guard_endpoint=selection.guard_endpoint, status__in=statuses)
    return rows.filter(build_below_query(selection.name_suffix)) if selection.name_suffix else rows


def _decide(
    actor: Actor, selection: HeldSelection, before: Collection[str], status: Status, reason: str
) -> DecidedDeletes:
    _raise_if_bad(selection)
    rows = _find_rows(selection, before)
    endpoints = list_guard_endpoints().in_bulk({row.guard_endpoint_id for row in rows})
    if not rows and selection.guard_endpoint is not None:
        endpoints = {selection.guard_endpoint.pk: selection.guard_endpoint}
    for endpoint in endpoints.values():
        _raise_if_not_allowed(
            actor, endpoint, {row.name for row in rows if row.guard_endpoint_id == endpoint.pk}
        )
    _raise_if_moved(selection, rows, before)
    now = fetch_now()
    with transaction.atomic():
        if _store(rows, before, status, (actor.name[:200], now, reason)) != len(rows):
            raise _moved()
        for endpoint in endpoints.values():
            _record(
                actor, endpoint, [row for row in rows if row.guard_endpoint_id == endpoint.pk], status, reason
            )
    names = sorted({row.name for row in rows})
    return DecidedDeletes(status, len(rows), names[:_MOST_NAMED])


def _raise_if_bad(selection: HeldSelection) -> None:
    if bool(selection.ids) is (selection.guard_endpoint is not None):
        raise InvalidRequest(
            "It is not clear which held deletes are meant.",
            fields={"ids": ["Give the ids of held deletes, or a guard endpoint, and not both."]},
        )
    if selection.ids and selection.name_suffix:
        problem = "It narrows what a guard endpoint holds, and not ids."
        raise InvalidRequest("Ids are not narrowed by a name.", fields={"name_suffix": [problem]})
    if len(selection.ids) > MOST_IDS:
        problem = f"Give at most {MOST_IDS} ids, or a guard endpoint."
        raise InvalidRequest("These are too many ids.", fields={"ids": [problem]})


def _find_rows(selection: HeldSelection, before: Collection[str]) -> list[_Waiting]:
    """All that a selection names; of a guard endpoint, what is in one of the statuses `before`."""
    columns = _Waiting._fields
    if selection.guard_endpoint is not None:
        found = list_selected(selection, before).order_by("name", "pk").values_list(*columns)
        return [_Waiting(*values) for values in found]
    wanted, rows = sorted(set(selection.ids)), []
    for chunk in _chunks(wanted):
        found = HeldDelete.objects.filter(pk__in=chunk).order_by("pk").values_list(*columns)
        rows += [_Waiting(*values) for values in found]
    if missing := sorted(set(wanted) - {row.pk for row in rows}):
        named = ", ".join(map(str, missing[:_MOST_IN_A_TEXT]))
        raise NotFound(f"There is no held delete {named}.", todo="Look it up in the list.")
    return rows


def _raise_if_not_allowed(actor: Actor, endpoint: GuardEndpoint, names: Collection[str]) -> None:
    """Raise NotAllowed unless the actor may operate the owner's record sets at every one of the names."""
    operate, provider, owner = Grant.Action.OPERATE, endpoint.provider, endpoint.instance.owner
    if names:
        out_of_reach = find_names_out_of_reach(actor, operate, provider=provider, owner=owner, names=names)
    else:
        out_of_reach = [] if fetch_reach(actor, operate, provider=provider, owner=owner) else ["any name"]
    if not out_of_reach:
        return
    named = ", ".join(out_of_reach[:_MOST_IN_A_TEXT])
    more = len(out_of_reach) - _MOST_IN_A_TEXT
    raise NotAllowed(
        f"{actor.name} may not decide on deletes of {owner} at {provider}: {named}"
        + (f" and {more} more." if more > 0 else "."),
        todo="Ask somebody with a grant to operate there, or choose only names that you may operate.",
    )


def _raise_if_moved(selection: HeldSelection, rows: Sequence[_Waiting], before: Collection[str]) -> None:
    if moved := [row.name for row in rows if row.status not in before]:
        raise _moved(moved)
    if not rows:
        raise StateMoved(
            "No held delete waits there for this decision.", todo="See the list of held deletes."
        )
    if selection.expected_count not in (None, len(rows)):
        raise StateMoved(
            f"{len(rows)} held deletes wait there by now, not {selection.expected_count}.",
            todo="Look at the list again, then decide.",
        )


def _moved(names: Sequence[str] = ()) -> StateMoved:
    which = f": {', '.join(names[:_MOST_IN_A_TEXT])}" if names else ""
    return StateMoved(
        f"Some of the held deletes do not wait for this decision any more{which}.",
        todo="Look at the list again: somebody decided, or the instance wants them again.",
    )


def _store(
    rows: Sequence[_Waiting], before: Collection[str], status: Status, decided: tuple[str, datetime, str]
) -> int:
    """How many were changed, by compare-and-swap."""
    name, now, reason = decided
    values = {"status": status, "decided_by": name, "decided_at": now, "decision_reason": reason}
    return sum(
        HeldDelete.objects.filter(pk__in=chunk, status__in=before).update(**values)
        for chunk in _chunks([row.pk for row in rows])
    )


def _record(
    actor: Actor, endpoint: GuardEndpoint, rows: Sequence[_Waiting], status: Status, reason: str
) -> None:
    names = sorted({row.name for row in rows})[:_MOST_NAMED]
    record_audit(
        actor,
        f"guard_endpoint.deletes_{status.value}",
        endpoint,
        reason=reason,
        before=dict(sorted(Counter(row.status for row in rows).items())),
        after={status.value: len(rows), "names": names},
    )


def _chunks(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[start : start + _ROWS] for start in range(0, len(keys), _ROWS))
