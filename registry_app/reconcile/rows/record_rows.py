"""Record sets of a snapshot as rows, and what their history says of a change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import starmap
from typing import NamedTuple

from django.db.models import QuerySet

from providers.registries.claim import PairedEndpoint
from providers.wire.canonical_name import reversed_name
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import RecordEvent, RecordSet
from registry_app.queries.written_since import Written
from registry_app.reconcile.rows.bulk import (
    Row,
    Value,
    json_text,
    plain_text,
    read_json,
    select_json,
    stored_time,
)
from registry_app.reconcile.rows.comparison import resource_of
from registry_app.reconcile.rows.mirror_diff import MirrorDiff
from registry_app.reconcile.rows.record_digest import describe_beliefs

_VALUE_COLUMNS = (
    "targets",
    "ttl",
    "provider_specific",
    "labels",
    "resource",
    "beliefs",
    "digest",
    "changed_at",
)
_OWNER_COLUMNS = ("state", "owner_id")
INSERTED_COLUMNS = (
    "provider_id",
    "name",
    "name_reversed",
    "record_type",
    "set_identifier",
    *_VALUE_COLUMNS,
    *_OWNER_COLUMNS,
    "first_seen_at",
    "missing_since",
    "missing_snapshots",
)
UPDATED_COLUMNS = (*_VALUE_COLUMNS, *_OWNER_COLUMNS, "missing_since", "missing_snapshots")
# Of the others several have indexes, which an UPDATE writes again though the values stay.
UPDATED_VALUE_COLUMNS = _VALUE_COLUMNS
EVENT_COLUMNS = (
    "provider_id",
    "name",
    "record_type",
    "set_identifier",
    "kind",
    "before",
    "after",
    "at",
    "sync_run_id",
    "transfer_id",
    "loop_run_id",
    "guard_endpoint",
    "writer",
)
# Of KnownRow: a tuple costs a third of an instance of the model with its owner.
_KNOWN_COLUMNS = (
    "pk",
    "name",
    "record_type",
    "set_identifier",
    select_json("targets"),
    "ttl",
    select_json("provider_specific"),
    select_json("labels"),
    "state",
    "owner__owner_id",
    "resource",
    "missing_since",
)
_Values = dict[str, object]
_NOBODY_KNOWN: Row = (None, None, "")


class KnownRow(NamedTuple):
    """A row of the mirror as history needs it."""

    pk: int
    name: str
    record_type: str
    set_identifier: str
    targets: list[str]
    ttl: int
    provider_specific: list[dict[str, str]]
    labels: dict[str, str]
    state: str
    owner_id: str | None
    resource: str
    missing_since: datetime | None


def read_known_rows(record_sets: "QuerySet[RecordSet]") -> Iterator[KnownRow]:
    """Database read."""
    for row in starmap(KnownRow, record_sets.values_list(*_KNOWN_COLUMNS)):
        yield row._replace(
            targets=read_json(row.targets),
            provider_specific=read_json(row.provider_specific),
            labels=read_json(row.labels),
        )


@dataclass(frozen=True)
class Writers:
    """Who touched a record set since the mirror was last true: the transfer, and what loops and the guard
    wrote."""

    transfers: Mapping[EndpointKey, int]
    written: Written

    def of(self, key: EndpointKey, kind: RecordEvent.Kind) -> Row:
        """Transfer, loop run and guard endpoint of a change, as history has them."""
        transfer_id = self.transfers.get(key) if kind == RecordEvent.Kind.OWNER_CHANGED else None
        if transfer_id is not None:
            return transfer_id, None, ""
        return None, self.written.loop_runs.get(key), self.written.guard_endpoints.get(key, "")


@dataclass(frozen=True)
class RowMaker:
    """Makes rows of one snapshot, all of one moment. `owner_keys` are the primary keys of owner ids."""

    provider_id: int
    snapshot: Snapshot
    plan: MirrorDiff
    owner_keys: Mapping[str, int]
    writers: Writers
    run_id: int
    now: datetime

    def inserted(self, index: int) -> Row:
        """The row of a record set that was not known."""
        key = self.snapshot.records[index].key
        name = (self.provider_id, key.name, reversed_name(key.name), key.record_type, key.set_identifier)
        return (*name, *self._value(index), *self._owner(index), self._stored_now, None, 0)

    def updated(self, pk: int, index: int) -> Row:
        """The row of a record set whose owner changed, and maybe its value, or that is there again."""
        return (*self._value(index), *self._owner(index), None, 0, pk)

    def updated_value(self, pk: int, index: int) -> Row:
        """The row of a record set of which nothing changed but its value."""
        return (*self._value(index), pk)

    def has_only_value_changed(self, before: KnownRow, index: int) -> bool:
        """Whether a known record set is not missing, and its owner the same."""
        record = self.snapshot.records[index]
        same = before.state == record.state.value and (before.owner_id or "") == record.owner_id
        return same and before.missing_since is None

    def appeared(self, index: int) -> Row:
        """The history of a record set that was not known."""
        record = self.snapshot.records[index]
        return self._event(record.key, RecordEvent.Kind.APPEARED, None, self._after(record), record.owner_id)

    def changes(self, before: KnownRow, index: int) -> list[Row]:
        """The history of a known record set: returned, value changed, owner changed, or several of them."""
        record = self.snapshot.records[index]
        was, now = _describe(before), self._after(record)
        kinds: list[RecordEvent.Kind] = []
        if before.missing_since is not None:
            kinds.append(RecordEvent.Kind.RETURNED)
        if (was["owner"], was["state"]) != (now["owner"], now["state"]):
            kinds.append(RecordEvent.Kind.OWNER_CHANGED)
        if _value_of(was) != _value_of(now):
            kinds.append(RecordEvent.Kind.CHANGED)
        return [self._event(record.key, kind, was, now, record.owner_id) for kind in kinds]

    def vanished(self, before: KnownRow) -> Row:
        """The history of a record set that is no longer there."""
        kind = RecordEvent.Kind.VANISHED
        key = EndpointKey(before.name, before.record_type, before.set_identifier)
        by = self.writers.of(key, kind)
        return build_event(self.provider_id, before, kind, self.run_id, self.now, by)

    @cached_property
    def _stored_now(self) -> Value:
        # Converted once: for each of a hundred thousand rows it took a fifth of a first sync.
        return stored_time(self.now)

    def _owner(self, index: int) -> Row:
        record = self.snapshot.records[index]
        return str(record.state), self.owner_keys[record.owner_id] if record.owner_id else None

    def _value(self, index: int) -> Row:
        record = self.snapshot.records[index]
        endpoint = record.endpoint
        return (
            json_text(endpoint.targets),
            endpoint.record_ttl,
            json_text(_properties(endpoint)) if endpoint.provider_specific else "[]",
            json_text(endpoint.labels) if endpoint.labels else "{}",
            plain_text(resource_of(self.snapshot, record)),
            json_text(describe_beliefs(self.snapshot, record)) if record.beliefs else "[]",
            self.plan.record_digests[index],
            self._stored_now,
        )

    def _after(self, record: PairedEndpoint) -> _Values:
        endpoint = record.endpoint
        return {
            "targets": list(endpoint.targets),
            "ttl": endpoint.record_ttl,
            "provider_specific": _properties(endpoint),
            "labels": endpoint.labels,
            "state": record.state.value,
            "owner": record.owner_id,
            "resource": plain_text(resource_of(self.snapshot, record)),
        }

    def _event(
        self, key: EndpointKey, kind: RecordEvent.Kind, was: _Values | None, now: _Values | None, writer: str
    ) -> Row:
        by = self.writers.of(key, kind)
        return (
            self.provider_id,
            key.name,
            key.record_type,
            key.set_identifier,
            kind.value,
            None if was is None else json_text(was),
            None if now is None else json_text(now),
            self._stored_now,
            self.run_id,
            *by,
            writer if by[0] is None else "dnsadmin",
        )


def build_event(
    provider_id: int,
    before: KnownRow,
    kind: RecordEvent.Kind,
    run_id: int,
    now: datetime,
    by: Row = _NOBODY_KNOWN,
) -> Row:
    """The history of a record set that is there no more."""
    return (
        provider_id,
        before.name,
        before.record_type,
        before.set_identifier,
        kind.value,
        json_text(_describe(before)),
        None,
        stored_time(now),
        run_id,
        *by,
        before.owner_id or "",
    )


def _describe(row: KnownRow) -> _Values:
    """What a row says, as history keeps it."""
    return {
        "targets": row.targets,
        "ttl": row.ttl,
        "provider_specific": row.provider_specific,
        "labels": row.labels,
        "state": row.state,
        "owner": row.owner_id or "",
        "resource": row.resource,
    }


def _properties(endpoint: Endpoint) -> list[dict[str, str]]:
    return [{"name": item.name, "value": item.value} for item in endpoint.provider_specific]


def _value_of(values: _Values) -> tuple[object, ...]:
    targets = values["targets"]
    return (
        sorted(set(targets)) if isinstance(targets, list) else targets,
        values["ttl"],
        values["provider_specific"],
        values["labels"],
        values["resource"],
    )
