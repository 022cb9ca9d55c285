"""The only writer of the audit trail: one entry for each state change, in the same transaction, chained."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import AuditEntry
from registry_app.models.audit_entry import AuditCheckpoint, AuditTail

_GENESIS = "0" * 64
_VERIFY_CHUNK = 2_000
# A sync logs what it stored itself, with its figures.
_LOGGED_ELSEWHERE = frozenset({"snapshot.stored"})
_LOG = structlog.get_logger(__name__)


def record_audit(
    actor: Actor,
    action: str,
    subject: models.Model | type[models.Model],
    *,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """Append one entry. Must be called inside the transaction of the change it records.

    `subject` is a row, or a model for what is about all of its rows.
    `action` is `noun.verb` in the past tense, as in `transfer.approved`. Values must be JSON and free of
    secrets: the caller names fields, never dumps a row.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("record_audit must be called inside the transaction of the change it records.")
    object_id, object_label = _identify(subject)
    tail = _lengthen_tail()
    entry = AuditEntry(
        sequence=tail.sequence,
        at=fetch_now(),
        actor_kind=actor.kind,
        actor_name=actor.name[:200],
        action=action,
        object_type=subject._meta.model_name or "",
        object_id=object_id,
        object_label=object_label[:300],
        reason=reason,
        before=before,
        after=after,
        request_id=actor.request_id[:64],
        previous_hash=tail.hash,
    )
    entry.hash = compute_entry_hash(entry)
    entry.save(force_insert=True)
    AuditTail.objects.filter(id=1).update(hash=entry.hash, seal=compute_tail_seal(entry.sequence, entry.hash))
    if action not in _LOGGED_ELSEWHERE:
        transaction.on_commit(partial(_log_entry, entry), robust=True)
    return entry


def _lengthen_tail() -> AuditTail:
    """The end of the trail, with the number of the next entry."""
    AuditTail.objects.get_or_create(id=1, defaults={"sequence": 0, "hash": _GENESIS})
    # This update takes the row lock on PostgreSQL; on SQLite the write transaction is exclusive already.
    AuditTail.objects.filter(id=1).update(sequence=models.F("sequence") + 1)
    return AuditTail.objects.get(id=1)


def _log_entry(entry: AuditEntry) -> None:
    """What happened is in the log as it is in the trail, but for the values."""
    after = entry.after or {}
    known = {"status": after.get("status"), "request_id": entry.request_id, "object_id": entry.object_id}
    _LOG.info(
        entry.action,
        object=entry.object_label,
        actor=entry.actor_name,
        actor_kind=entry.actor_kind,
        audit_entry=entry.sequence,
        **{name: value for name, value in known.items() if value},
    )


def _identify(subject: models.Model | type[models.Model]) -> tuple[str, str]:
    """The id and the label of what an entry is about."""
    if isinstance(subject, models.Model):
        return str(subject.pk), str(subject)
    return "", str(subject._meta.verbose_name_plural)


def compute_tail_seal(sequence: int, entry_hash: str) -> str:
    """HMAC-SHA256 over the end of the trail."""
    text = f"audit tail\n{sequence}\n{entry_hash}"
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def compute_checkpoint_seal(checkpoint: AuditCheckpoint) -> str:
    """HMAC-SHA256 over every column but the seal itself."""
    values = [checkpoint.sequence, checkpoint.hash, _format_time(checkpoint.at), checkpoint.entries]
    text = "audit checkpoint\n" + json.dumps([*values, checkpoint.export_digest, checkpoint.restores])
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def compute_entry_hash(entry: AuditEntry) -> str:
    """HMAC-SHA256 over every column but the hash itself, as canonical JSON."""
    values = {
        "sequence": entry.sequence,
        "at": _format_time(entry.at),
        "actor": [entry.actor_kind, entry.actor_name],
        "action": entry.action,
        "object": [entry.object_type, entry.object_id, entry.object_label],
        "reason": entry.reason,
        "before": entry.before,
        "after": entry.after,
        "request_id": entry.request_id,
        "previous_hash": entry.previous_hash,
    }
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def _format_time(at: datetime) -> str:
    return at.astimezone(tz=timezone.get_default_timezone()).isoformat(timespec="microseconds")


@dataclass(frozen=True)
class AuditFault:
    """The first entry at which the chain does not hold, and why."""

    sequence: int
    problem: str


def verify_audit() -> AuditFault | None:
    """Walk the whole chain. None: it holds from the first entry, or from the checkpoint up to which entries
    were exported and deleted, to the tail."""
    expected_sequence, previous_hash = 1, _GENESIS
    checkpoint = AuditCheckpoint.objects.first()
    if checkpoint is not None:
        if not hmac.compare_digest(checkpoint.seal, compute_checkpoint_seal(checkpoint)):
            return AuditFault(checkpoint.sequence, "the checkpoint of a purge was written by somebody else")
        expected_sequence, previous_hash = checkpoint.sequence + 1, checkpoint.hash
    for entry in _iterate_entries(expected_sequence):
        if entry.sequence != expected_sequence:
            return AuditFault(expected_sequence, "an entry is missing")
        if entry.previous_hash != previous_hash:
            return AuditFault(entry.sequence, "the entry before it was changed or replaced")
        if not hmac.compare_digest(entry.hash, compute_entry_hash(entry)):
            return AuditFault(entry.sequence, "the entry was changed, or the audit key is another one")
        expected_sequence, previous_hash = entry.sequence + 1, entry.hash
    return _find_fault_of_tail(expected_sequence, previous_hash)


def _find_fault_of_tail(expected_sequence: int, previous_hash: str) -> AuditFault | None:
    tail = AuditTail.objects.filter(id=1).first()
    if tail is not None and (tail.sequence, tail.hash) != (expected_sequence - 1, previous_hash):
        return AuditFault(expected_sequence, "entries at the end are missing")
    if tail is None and expected_sequence > 1:
        return AuditFault(expected_sequence, "the tail of the chain is missing")
    if tail is not None and tail.sequence:
        seal = compute_tail_seal(tail.sequence, tail.hash)
        if not hmac.compare_digest(tail.seal, seal):
            return AuditFault(tail.sequence, "the tail of the chain was written by somebody else")
    return None


def _iterate_entries(first: int) -> Iterator[AuditEntry]:
    entries = AuditEntry.objects.filter(sequence__gte=first)
    yield from entries.order_by("sequence").iterator(chunk_size=_VERIFY_CHUNK)
