"""Note that the database was restored: void what was open, and stop all sending."""

from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import F

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.models import Generation, Loop, Provider
from registry_app.outside_copy import (
    Knowledge,
    fetch_generation,
    fetch_knowledge,
    find_copy_ahead,
    store_copy,
)
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding
from registry_app.restore.void_open_work import void_loop_runs, void_transfers

_logger = structlog.get_logger(__name__)


def note_restore_if_any() -> bool:
    """Compare the database with its copies outside, and bring these up to date. Whether it was restored.

    Called when a role starts, and every few seconds. Any number of calls at once have the effect of one.
    """
    ahead = find_copy_ahead()
    if ahead is None:
        store_copy(fetch_knowledge())
        return False
    note_restore(SYSTEM, ahead, how="A copy outside the database is ahead of the database.")
    return True


def note_restore(actor: Actor, ahead: Knowledge | None, *, how: str) -> Generation | None:
    """Raise the generation, void every open transfer and run, and stop all sending. None: another worker
    did.

    `ahead` is what is known of the database as it was before the restore, if anything is. Nothing is sent to
    a provider until its next snapshot was accepted (registry_app.restore.accept_restored).
    """
    row = fetch_generation()
    number = max(row.number, ahead.generation if ahead else 0) + 1
    sends = max(row.sends, ahead.sends if ahead else 0)
    with transaction.atomic():
        now = fetch_now()
        same = Generation.objects.filter(id=1, number=row.number)
        if not same.update(number=number, sends=sends, restored_at=now):
            return None
        known = fetch_knowledge()
        record_audit(
            actor,
            "database.restored",
            row,
            reason=how,
            before={"generation": row.number},
            after={"generation": number, "audit_cut": _describe_cut(known, ahead)},
        )
        _stop_sending(now)
        void_transfers(actor)
        void_loop_runs(actor, now)
    store_copy(fetch_knowledge())
    row.refresh_from_db()
    _logger.warning("database.restored", generation=number, how=how)
    return row


def _describe_cut(known: Knowledge, ahead: Knowledge | None) -> dict[str, object] | None:
    """The audit entries that were written once and are not in this database; None where none is known."""
    if ahead is None or ahead.sequence <= known.sequence:
        return None
    return {"from": known.sequence + 1, "to": ahead.sequence, "last_hash": ahead.hash}


def _stop_sending(now: datetime) -> None:
    # A greater epoch: whoever worked with a provider through the restore finds its lease gone.
    Provider.objects.update(
        restored_at=now,
        lease_epoch=F("lease_epoch") + 1,
        lease_holder="",
        lease_until=None,
        next_sync_at=now,
    )
    # What a person confirmed was confirmed for another state.
    Loop.objects.exclude(requested_by="", confirmation="").update(requested_by="", confirmation="")
    for pk, name in Provider.objects.values_list("pk", "name"):
        open_finding(pk, _draft(pk, name), now)


def _draft(provider_id: int, name: str) -> FindingDraft:
    return FindingDraft(
        kind=Kind.DATABASE_RESTORED,
        severity=Severity.CRITICAL,
        subject="",
        explanation=(
            f"The database was restored from an earlier state. Nothing is sent to {name} until "
            "somebody who may operate it accepts a snapshot that was read after the restore. Open "
            "transfers and loop runs are void. Check what changed there, then accept the snapshot on "
            "the provider's page."
        ),
        suggestion={"kind": "accept_restored", "provider_id": provider_id},
    )
