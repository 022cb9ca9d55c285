"""Record sets by the million: read past the ORM, in slices, as the API shows them.

The ORM takes five times as long as the database: it decodes JSON that is written again at once, and makes
values of times. Here the driver's rows become the answer, with JSON as it is stored.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from django.db import connections
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from registry_app.models import Owner, Provider, RecordSet
from registry_app.queries.keyset import Keyset, slice_after
from registry_app.queries.owner import find_look_alikes

_SLICE = 1_000
_SECONDS, _MICROSECONDS = len("2026-01-02T03:04:05"), len("2026-01-02T03:04:05.678901")
_PLAIN = (
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


def iterate_record_set_rows(rows: QuerySet[RecordSet], keyset: Keyset) -> Iterator[list[dict[str, Any]]]:
    """All of `rows` in this order, each as the list of the API shows it; a statement for each slice."""
    names = _Names()
    moments = (Cast(name, TextField()) for name in _MOMENTS)
    columns: tuple[str | Cast, ...] = (*_PLAIN, *keyset.columns, *moments)
    first, after = len(_PLAIN), len(_PLAIN) + len(keyset.columns)
    position = None
    while True:
        found = _fetch(slice_after(rows, keyset, position).values_list(*columns)[:_SLICE])
        if found:
            names.learn(found)
            position = tuple(found[-1][first:after])
        is_last = len(found) < _SLICE
        # Not held any more while the next slice is read.
        built, found = [_build(row, row[after:], names) for row in found], []
        if built:
            yield built
        if is_last:
            return


class _Names:
    """The providers and owners that rows name, each read once. There are few of them."""

    def __init__(self) -> None:
        self.providers: dict[int, dict[str, Any]] = {}
        # Owner id, and the registered one that it looks like.
        self.owners: dict[int | None, tuple[str | None, str | None]] = {None: (None, None)}

    def learn(self, rows: list[Any]) -> None:
        """Read the names of those that are new."""
        if new := {row[1] for row in rows} - self.providers.keys():
            known = Provider.with_deleted.filter(pk__in=new).values("id", "name")
            self.providers.update({each["id"]: dict(each) for each in known})
        if new := {row[9] for row in rows} - self.owners.keys():
            found = dict(Owner.objects.filter(pk__in=new).values_list("pk", "owner_id"))
            look_alikes = find_look_alikes(found.values())
            self.owners.update({pk: (name, look_alikes.get(name)) for pk, name in found.items()})


def _fetch(rows: QuerySet[Any, Any]) -> list[Any]:
    """The rows as the driver has them, without the conversions of the fields."""
    statement, parameters = rows.query.get_compiler(rows.db).as_sql()
    with connections[rows.db].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _build(row: Any, moments: Any, names: _Names) -> dict[str, Any]:
    owner, looks_like = names.owners[row[9]]
    return {
        "id": row[0],
        "provider": names.providers[row[1]],
        "name": row[2],
        "record_type": row[3],
        "set_identifier": row[4],
        "targets": msgspec.Raw(row[5].encode()),
        "ttl": row[6],
        "provider_specific": msgspec.Raw(row[7].encode()),
        "state": row[8],
        "owner": owner,
        "owner_looks_like": looks_like,
        "resource": row[10],
        "first_seen_at": format_moment(moments[0]),
        "changed_at": format_moment(moments[1]),
        "missing_since": None if moments[2] is None else format_moment(moments[2]),
    }


def format_moment(text: str) -> str:
    """A time in UTC as a database writes it, in ISO 8601."""
    moment = text.partition("+")[0].replace(" ", "T")
    return f"{moment if len(moment) == _SECONDS else moment.ljust(_MICROSECONDS, '0')}Z"
