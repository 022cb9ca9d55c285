"""All names of a provider that somebody wants, or that belong to an owner of which all is known, in order."""

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from registry_app.models import DesiredEndpoint, Owner, Provider, RecordSet
from registry_app.reconcile.contention.units import Held, Unit, Wish, Wisher
from registry_app.reconcile.contention.wishers import Wishers

_AT_ONCE = 2_000
_UNITS = 500


class _Row(NamedTuple):
    """A desired endpoint, or a record set (no `wisher`), without times and targets, which take longest."""

    name: str
    set_identifier: str
    record_type: str
    pk: int
    wisher: Wisher | None
    owner_id: str
    owner_pk: int | None = None
    state: str = ""


_NAME = itemgetter(0)
_IDENTIFIER = itemgetter(1)


def read_units(provider: Provider, wishers: Wishers) -> Iterator[Unit]:
    """All but those where one instance wants just what its owner owns. Database read: scans in the order of
    names, some thousand rows at a time, and the rest of the rows that are needed."""
    wishes = map(_read_wishes, wishers.by_guard_endpoint.values())
    merged = heapq.merge(*wishes, _read_held(provider, wishers), key=_NAME)
    waiting: list[Sequence[_Row]] = []
    for _, group in groupby(merged, key=_NAME):
        at_name = list(group)
        if _is_agreed(at_name):
            continue
        by_identifier = groupby(sorted(at_name, key=_IDENTIFIER), key=_IDENTIFIER)
        waiting.extend(list(rows) for _, rows in by_identifier)
        if len(waiting) >= _UNITS:
            yield from _build_units(waiting)
            waiting = []
    yield from _build_units(waiting)


def _is_agreed(at_name: Sequence[_Row]) -> bool:
    """Whether one record set is wanted and there, at the same name and by the same owner: nearly all are."""
    if len(at_name) != 2:
        return False
    one, other = at_name
    is_one_each = (one.wisher is None) != (other.wisher is None)
    return is_one_each and one[1:3] == other[1:3] and one.owner_id == other.owner_id


def _build_units(waiting: Sequence[Sequence[_Row]]) -> Iterator[Unit]:
    """What was changed or deleted since the scan is left to the next one."""
    wished = [row.pk for rows in waiting for row in rows if row.wisher is not None]
    there = [row.pk for rows in waiting for row in rows if row.wisher is None]
    desired = DesiredEndpoint.objects.filter(pk__among=wished).order_by()
    details = {pk: rest for pk, *rest in desired.values_list("pk", "targets", "first_seen_at")}
    since = dict(RecordSet.objects.filter(pk__among=there).order_by().values_list("pk", "first_seen_at"))
    for rows in waiting:
        wishes = [
            Wish(row.wisher, row.record_type, *details[row.pk])
            for row in rows
            if row.wisher is not None and row.pk in details
        ]
        held = [
            Held(row.pk, row.record_type, row.state, row.owner_pk, row.owner_id, since[row.pk])
            for row in rows
            if row.wisher is None and row.pk in since
        ]
        yield Unit(rows[0].name, rows[0].set_identifier, wishes, held)


def _read_wishes(wisher: Wisher) -> Iterator[_Row]:
    # One by one: then an index has their order. Of all at once, SQLite would sort all for each part.
    rows = DesiredEndpoint.objects.filter(guard_endpoint=wisher.guard_endpoint_id)
    for name, identifier, record_type, pk in _iterate(rows, ("name", "set_identifier", "record_type", "pk")):
        if wisher.wants(name, record_type):
            yield _Row(name, identifier, record_type, pk, wisher, wisher.owner_id)


def _read_held(provider: Provider, wishers: Wishers) -> Iterator[_Row]:
    owners = dict(Owner.with_deleted.values_list("pk", "owner_id"))
    complete = [pk for pk, owner_id in owners.items() if owner_id in wishers.complete]
    wanted = DesiredEndpoint.objects.filter(
        name=OuterRef("name"), guard_endpoint__in=wishers.by_guard_endpoint
    )
    rows = RecordSet.objects.filter(Q(owner__in=complete) | Exists(wanted), provider=provider)
    fields = ("name", "set_identifier", "record_type", "pk", "owner_id", "state")
    there = rows.filter(missing_since__isnull=True)
    for name, identifier, record_type, pk, owner_pk, state in _iterate(there, fields):
        owner_id = owners.get(owner_pk, "") if owner_pk is not None else ""
        yield _Row(name, identifier, record_type, pk, None, owner_id, owner_pk, state)


def _iterate(rows: QuerySet[Any], fields: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The rows by name, read in parts: with an open cursor SQLite could not write in between. A name is read
    in one part."""
    ordered = rows.order_by("name").values_list(*fields)
    part = list(ordered[:_AT_ONCE])
    while len(part) == _AT_ONCE:
        last = part[-1][0]
        yield from (row for row in part if row[0] != last)
        yield from ordered.filter(name=last)
        part = list(ordered.filter(name__gt=last)[:_AT_ONCE])
    yield from part
