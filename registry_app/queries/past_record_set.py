"""Record sets of a provider as of a moment, and what differs between two moments, from the mirror and its
history.

A moment is what the syncs until then had found: a change counts from the sync that stored it. Claims have no
history of their own; of a record set, its owner and state are what its claims said.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Max, Min, Q, QuerySet

from providers.wire.endpoint import EndpointKey
from registry_app.clock import TOLERANCE, fetch_now
from registry_app.errors import InvalidRequest
from registry_app.models import Provider, RecordEvent, RecordSet
from registry_app.queries.named_row import build_suffix_query, read_name

# Names that are read at a time. A name has few record sets.
_SLICE = 2_000
_KEY = ("name", "record_type", "set_identifier")
_CAME = (RecordEvent.Kind.APPEARED, RecordEvent.Kind.RETURNED)
_Values = Mapping[str, Any]


@dataclass(frozen=True)
class PastFilter:
    """What is left empty does not narrow. `writer` narrows a difference alone: a guard endpoint, an owner id,
    or "dnsadmin" for transfers and loops."""

    owner_id: str = ""
    name: str = ""
    name_suffix: str = ""
    types: tuple[str, ...] = ()
    writer: str = ""

    def has_key(self, key: EndpointKey) -> bool:
        """Whether a record set is among those asked for, whatever it contains."""
        return not self.types or key.record_type in self.types

    def has_owner(self, values: _Values | None) -> bool:
        """Whether these values are of the owner asked for."""
        return not self.owner_id or (values is not None and values["owner"] == self.owner_id)

    def has_change(self, before: _Values | None, after: _Values | None, writers: tuple[str, ...]) -> bool:
        """Whether a change was from or to the owner asked for, and made by the writer asked for."""
        is_theirs = self.has_owner(before) or self.has_owner(after)
        return is_theirs and (not self.writer or self.writer in writers)


class PastRecordSet(NamedTuple):
    """`values` are as in the history of a record set: targets, ttl, provider_specific, labels, state, owner,
    resource."""

    key: EndpointKey
    values: _Values


class Difference(NamedTuple):
    """A record set that is not what it was. None: it was not there. `changed_at` is its last change in that
    time, `writers` who made its changes, as far as anybody can tell."""

    key: EndpointKey
    before: _Values | None
    after: _Values | None
    changed_at: datetime
    writers: tuple[str, ...]


def iterate_record_sets_at(
    provider: Provider, moment: datetime, wanted: PastFilter, *, after_name: str = ""
) -> Iterator[PastRecordSet]:
    """What the provider had then, in order of name, in constant memory. `after_name`: only names after this
    one. Raises InvalidRequest where the history does not go back that far. Database reads."""
    raise_if_unknown(provider, moment, "at")
    now, later = _select_now(provider, wanted), _select_events(provider, wanted).filter(at__gt=moment)
    if wanted.owner_id:
        now = now.filter(owner__owner_id=wanted.owner_id)
        later = later.filter(before__owner=wanted.owner_id)
    for names in _slice_names([now, later], after_name):
        for key, values in _read_at(provider, moment, names):
            if wanted.has_key(key) and wanted.has_owner(values):
                yield PastRecordSet(key, values)


def iterate_differences(
    provider: Provider, since: datetime, until: datetime, wanted: PastFilter, *, after_name: str = ""
) -> Iterator[Difference]:
    """What the provider had at `until` and not at `since`, and the reverse, in order of name, in constant
    memory. With an owner: what was that owner's at one of the two moments. What changed and changed back is
    no difference. Raises InvalidRequest where the history does not go back that far. Database reads."""
    raise_if_unknown(provider, since, "since")
    if until < since:
        raise InvalidRequest(
            "The second moment is before the first.", fields={"until": ["A moment after the first."]}
        )
    between = Q(at__gt=since, at__lte=until)
    for names in _slice_names([_select_events(provider, wanted).filter(between)], after_name):
        before, after = (dict(_read_at(provider, moment, names)) for moment in (since, until))
        changes = _read_changes(provider, between, names)
        for key in sorted(changes):
            was, now = before.get(key), after.get(key)
            changed_at, writers = changes[key]
            if was != now and wanted.has_key(key) and wanted.has_change(was, now, writers):
                yield Difference(key, was, now, changed_at, writers)


def raise_if_unknown(provider: Provider, moment: datetime, name: str) -> None:
    """Raise InvalidRequest, about `name`, for a moment of which the history says nothing, or not all."""
    now = fetch_now()
    if moment > now + TOLERANCE:
        raise InvalidRequest("That moment is still to come.", fields={name: ["A moment in the past."]})
    begin = max(provider.created_at, now - settings.DNSADMIN_RETENTION_EVENTS)
    if moment < begin:
        shown = begin.isoformat(timespec="seconds")
        raise InvalidRequest(
            f"The history of {provider.name} goes back to {shown}.", fields={name: [f"{shown} or later."]}
        )


def _select_now(provider: Provider, wanted: PastFilter) -> "QuerySet[RecordSet]":
    rows = RecordSet.objects.filter(provider=provider, missing_since__isnull=True)
    if wanted.name:
        rows = rows.filter(name=read_name(wanted.name))
    return rows.filter(build_suffix_query(wanted.name_suffix)) if wanted.name_suffix else rows


def _select_events(provider: Provider, wanted: PastFilter) -> "QuerySet[RecordEvent]":
    rows = RecordEvent.objects.filter(provider=provider)
    if wanted.name:
        rows = rows.filter(name=read_name(wanted.name))
    if wanted.name_suffix:
        suffix = read_name(wanted.name_suffix)
        rows = rows.filter(Q(name=suffix) | Q(name__endswith=f".{suffix}"))
    return rows


def _slice_names(
    sources: "Sequence[QuerySet[RecordSet] | QuerySet[RecordEvent]]", after_name: str
) -> Iterator[list[str]]:
    """The names of all these rows, each once, in order, some at a time."""
    while True:
        slices = [_list_names(rows, after_name) for rows in sources]
        # Each has its first names: what comes first of all is among them.
        names = list(islice(_without_repeats(heapq.merge(*slices)), _SLICE))
        if not names:
            return
        yield names
        after_name = names[-1]


def _list_names(rows: "QuerySet[RecordSet] | QuerySet[RecordEvent]", after_name: str) -> list[str]:
    after = rows.filter(name__gt=after_name).order_by("name")
    return list(after.values_list("name", flat=True).distinct()[:_SLICE])


def _without_repeats(names: Iterable[str]) -> Iterator[str]:
    last = None
    for name in names:
        if name != last:
            yield name
        last = name


def _read_at(
    provider: Provider, moment: datetime, names: Sequence[str]
) -> Iterator[tuple[EndpointKey, _Values]]:
    """What these names had then, in order. The first change afterwards says what was there before it; what
    did not change since is there now."""
    at_names = RecordEvent.objects.filter(provider=provider, name__in=names)
    first = at_names.filter(at__gt=moment).order_by().values(*_KEY).annotate(first=Min("pk"))
    changed = RecordEvent.objects.filter(pk__in=first.values("first")).values_list(*_KEY, "kind", "before")
    found: dict[EndpointKey, _Values | None] = {
        EndpointKey(*key): None if kind in (*_CAME, RecordEvent.Kind.PURGED) else before
        for *key, kind, before in changed
    }
    rows = RecordSet.objects.filter(
        # What was found later without an event was found by the first sync: nothing is known before it.
        provider=provider,
        name__in=names,
        missing_since__isnull=True,
        first_seen_at__lte=moment,
    )
    for row in rows.select_related("owner"):
        found.setdefault(EndpointKey(row.name, row.record_type, row.set_identifier), _describe(row))
    return ((key, values) for key in sorted(found) if (values := found[key]) is not None)


def _describe(row: RecordSet) -> _Values:
    """As the history has it."""
    return {
        "targets": row.targets,
        "ttl": row.ttl,
        "provider_specific": row.provider_specific,
        "labels": row.labels,
        "state": row.state,
        "owner": row.owner.owner_id if row.owner else "",
        "resource": row.resource,
    }


def _read_changes(
    provider: Provider, between: Q, names: Sequence[str]
) -> dict[EndpointKey, tuple[datetime, tuple[str, ...]]]:
    """When each record set changed last in that time, and who changed it."""
    by_writer = (
        RecordEvent.objects.filter(between, provider=provider, name__in=names)
        .order_by()
        .values_list(*_KEY, "guard_endpoint", "writer")
        .annotate(last=Max("at"))
        .order_by(*_KEY, "last")
    )
    found: dict[EndpointKey, tuple[datetime, tuple[str, ...]]] = {}
    for name, record_type, set_identifier, guard_endpoint, writer, last in by_writer:
        key = EndpointKey(name, record_type, set_identifier)
        _, writers = found.get(key, (last, ()))
        who = guard_endpoint or writer
        found[key] = (last, writers if not who or who in writers else (*writers, who))
    return found
