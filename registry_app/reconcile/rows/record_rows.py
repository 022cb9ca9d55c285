"""Record sets of a snapshot as rows, and what their history says of a change. No query here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from providers.registries.claim import PairedEndpoint
from providers.wire.canonical_name import reversed_name
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import RecordEvent, RecordSet
from registry_app.reconcile.rows.bulk import Row, Value, json_text, plain_text, stored_time
from registry_app.reconcile.rows.comparison import resource_of
from registry_app.reconcile.rows.mirror_diff import MirrorDiff
from registry_app.reconcile.rows.record_digest import describe_beliefs

_VALUE_COLUMNS = (
    "targets",
    "ttl",
    "provider_specific",
    "labels",
    "state",
    "owner_id",
    "resource",
    "beliefs",
    "digest",
    "changed_at",
)
INSERTED_COLUMNS = (
    "provider_id",
    "name",
    "name_reversed",
    "record_type",
    "set_identifier",
    *_VALUE_COLUMNS,
    "first_seen_at",
    "missing_since",
    "missing_snapshots",
)
UPDATED_COLUMNS = (*_VALUE_COLUMNS, "missing_since", "missing_snapshots")
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
    "writer",
)
_Values = dict[str, object]


@dataclass(frozen=True)
class RowMaker:
    """Makes rows of one snapshot, all of one moment. `owner_keys` are the primary keys of owner ids,
    `transfers` the transfer that touched a record set since the mirror was last true."""

    provider_id: int
    snapshot: Snapshot
    plan: MirrorDiff
    owner_keys: Mapping[str, int]
    transfers: Mapping[EndpointKey, int]
    run_id: int
    now: datetime

    def inserted(self, index: int) -> Row:
        """The row of a record set that was not known."""
        key = self.snapshot.records[index].key
        name = (self.provider_id, key.name, reversed_name(key.name), key.record_type, key.set_identifier)
        return (*name, *self._values(index), self._stored_now, None, 0)

    def updated(self, pk: int, index: int) -> Row:
        """The row of a record set whose value or owner changed, or that is there again."""
        return (*self._values(index), None, 0, pk)

    def appeared(self, index: int) -> Row:
        """The history of a record set that was not known."""
        record = self.snapshot.records[index]
        return self._event(record.key, RecordEvent.Kind.APPEARED, None, self._after(record), record.owner_id)

    def changes(self, before: RecordSet, index: int) -> list[Row]:
        """The history of a known record set: returned, value changed, owner changed, or several of them."""
        record = self.snapshot.records[index]
        was, now = describe_row(before), self._after(record)
        kinds: list[RecordEvent.Kind] = []
        if before.missing_since is not None:
            kinds.append(RecordEvent.Kind.RETURNED)
        if (was["owner"], was["state"]) != (now["owner"], now["state"]):
            kinds.append(RecordEvent.Kind.OWNER_CHANGED)
        if _value_of(was) != _value_of(now):
            kinds.append(RecordEvent.Kind.CHANGED)
        return [self._event(record.key, kind, was, now, record.owner_id) for kind in kinds]

    def vanished(self, before: RecordSet) -> Row:
        """The history of a record set that is no longer there."""
        return build_event(before, RecordEvent.Kind.VANISHED, self.run_id, self.now)

    @cached_property
    def _stored_now(self) -> Value:
        # Converted once: for each of a hundred thousand rows it took a fifth of a first sync.
        return stored_time(self.now)

    def _values(self, index: int) -> Row:
        record = self.snapshot.records[index]
        endpoint = record.endpoint
        return (
            json_text(endpoint.targets),
            endpoint.record_ttl,
            json_text(_properties(endpoint)) if endpoint.provider_specific else "[]",
            json_text(endpoint.labels) if endpoint.labels else "{}",
            str(record.state),
            self.owner_keys[record.owner_id] if record.owner_id else None,
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
        transfer_id = self.transfers.get(key) if kind == RecordEvent.Kind.OWNER_CHANGED else None
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
            transfer_id,
            writer if transfer_id is None else "dnsadmin",
        )


def build_event(before: RecordSet, kind: RecordEvent.Kind, run_id: int, now: datetime) -> Row:
    """The history of a record set that is there no more. The row's owner must be at hand."""
    was = describe_row(before)
    return (
        before.provider_id,
        before.name,
        before.record_type,
        before.set_identifier,
        kind.value,
        json_text(was),
        None,
        stored_time(now),
        run_id,
        None,
        str(was["owner"]),
    )


def describe_row(row: RecordSet) -> _Values:
    """What a row says, as history keeps it. The row's owner must be at hand (select_related)."""
    return {
        "targets": row.targets,
        "ttl": row.ttl,
        "provider_specific": row.provider_specific,
        "labels": row.labels,
        "state": row.state,
        "owner": row.owner.owner_id if row.owner else "",
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
