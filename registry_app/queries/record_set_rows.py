"""Record sets by the million: read past the ORM, in slices, as the API shows them.

The ORM takes five times as long as the database: it decodes JSON that is written again at once, and makes
values of times. Here the driver's rows become the answer, with JSON as it is stored.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from registry_app.models import Owner, Provider, RecordSet
from registry_app.queries.keyset import Keyset, slice_after
from registry_app.queries.owner import find_look_alikes

_SLICE = 1_000
_MOST_MOMENTS = 10_000
_SECONDS, _MICROSECONDS = len("2026-01-02T03:04:05"), len("2026-01-02T03:04:05.678901")
_COLUMNS = (
    "id",
    "provider_id",
    "name",
    "record_type",
    "set_identifier",
    "targets",
    "ttl",
    "provider_specific",
    "state",
    "owner_id",
    "resource",
)
_MOMENTS = ("first_seen_at", "changed_at", "missing_since")
_PROVIDER, _OWNER = _COLUMNS.index("provider_id"), _COLUMNS.index("owner_id")


class RecordSetRow(msgspec.Struct, gc=False):
    """A record set as the list of the API shows it, with JSON as it is stored."""

    id: int
    provider: dict[str, Any]
    name: str
    record_type: str
    set_identifier: str
    targets: msgspec.Raw
    ttl: int
    provider_specific: msgspec.Raw
    state: str
    owner: str | None
    owner_looks_like: str | None
    resource: str
    first_seen_at: str | None
    changed_at: str | None
    missing_since: str | None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def iterate_record_set_rows(rows: QuerySet[RecordSet], keyset: Keyset) -> Iterator[list[RecordSetRow]]:
    """All of `rows` in this order, each as the list of the API shows it; a statement for each slice."""
    known = _Known()
    more = tuple(column for column in keyset.columns if column not in _COLUMNS)
    moments = (Cast(name, TextField()) for name in _MOMENTS)
    columns: tuple[str | Cast, ...] = (*_COLUMNS, *moments, *more)
    place = [columns.index(column) for column in keyset.columns]
    position = None
    while True:
        found = fetch_as_stored(slice_after(rows, keyset, position).values_list(*columns)[:_SLICE])
        if found:
            known.learn(found)
            position = tuple(found[-1][each] for each in place)
        is_last = len(found) < _SLICE
        # Not held any more while the next slice is read.
        built, found = known.build(found), []
        if built:
            yield built
        if is_last:
            return


class _Moments(dict[str | None, str | None]):
    """Times as they are shown, by their text in the database. All changes of a sync have one time."""

    def __missing__(self, text: str | None) -> str | None:
        if len(self) >= _MOST_MOMENTS:
            self.clear()
        shown = self[text] = None if text is None else format_moment(text)
        return shown


class _Known:
    """The providers and owners that rows name, each read once: there are few of them. And the times."""

    def __init__(self) -> None:
        self.moments = _Moments()
        self.providers: dict[int, dict[str, Any]] = {}
        # Owner id, and the registered one that it looks like.
        self.owners: dict[int | None, tuple[str | None, str | None]] = {None: (None, None)}

    def learn(self, rows: list[Any]) -> None:
        """Read the names of those that are new."""
        if new := {row[_PROVIDER] for row in rows} - self.providers.keys():
            named = Provider.with_deleted.filter(pk__in=new).values("id", "name")
            self.providers.update({each["id"]: dict(each) for each in named})
        if new := {row[_OWNER] for row in rows} - self.owners.keys():
            found = dict(Owner.objects.filter(pk__in=new).values_list("pk", "owner_id"))
            look_alikes = find_look_alikes(found.values())
            self.owners.update({pk: (name, look_alikes.get(name)) for pk, name in found.items()})

    def build(self, rows: list[Any]) -> list[RecordSetRow]:
        """The rows as the API shows them."""
        providers, owners, moments, raw = self.providers, self.owners, self.moments, msgspec.Raw
        return [
            RecordSetRow(
                pk,
                providers[provider],
                name,
                record_type,
                set_identifier,
                raw(targets.encode()),
                ttl,
                raw(properties.encode()),
                state,
                *owners[owner],
                resource,
                moments[first_seen_at],
                moments[changed_at],
                moments[missing_since],
            )
            for (
                pk,
                provider,
                name,
                record_type,
                set_identifier,
                targets,
                ttl,
                properties,
                state,
                owner,
                resource,
                first_seen_at,
                changed_at,
                missing_since,
                *_position,
            ) in rows
        ]


def fetch_as_stored(rows: QuerySet[Any, Any]) -> list[Any]:
    """The rows as the driver has them, without the conversions of the fields."""
    try:
        statement, parameters = rows.query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:  # a condition that nothing fits
        return []
    with connections[rows.db].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def format_moment(text: str) -> str:
    """A time in UTC as a database writes it, in ISO 8601."""
    moment = text.partition("+")[0].replace(" ", "T")
    return f"{moment if len(moment) == _SECONDS else moment.ljust(_MICROSECONDS, '0')}Z"
