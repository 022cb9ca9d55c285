"""An implausible snapshot is kept for a person to decide on. The mirror stays as it was (I3)."""

import zlib
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from providers.registries.stored_claim import encode_contents
from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.mirror.plausibility import Reason
from registry_app.models import HeldSnapshot, Provider, SyncRun
from registry_app.queries.provider import last_snapshot
from registry_app.reconcile.failure import resolve_failing
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, compute_fingerprint
from registry_app.reconcile.lease import raise_if_lost
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from registry_app.reconcile.sync_context import SyncContext, SyncResult
from registry_app.reconcile.sync_run import build_next_sync, close_run, store_run

_FASTEST = 1
_OPEN = HeldSnapshot.Status.OPEN
_WAITING = (_OPEN, HeldSnapshot.Status.ACCEPTED)
_SETTLED = {
    HeldSnapshot.Status.OPEN: HeldSnapshot.Status.CLEARED,
    HeldSnapshot.Status.ACCEPTED: HeldSnapshot.Status.STORED,
}


def store_held(
    context: SyncContext, result: SyncResult, reasons: Sequence[Reason], fingerprint: str
) -> SyncRun:
    """Keep the snapshot beside the mirror, one a provider, with its reasons and the difference."""
    now = fetch_now()
    snapshot = result.snapshot
    values: dict[str, object] = {
        "sync_run": context.run,
        "reasons": [{"code": reason.code, "text": reason.text} for reason in reasons],
        "difference": _describe(result, fingerprint),
        "body": zlib.compress(snapshot.body, _FASTEST),
        "contents": zlib.compress(encode_contents(snapshot.contents), _FASTEST) if snapshot.contents else b"",
        "body_digest": snapshot.body_digest,
    }
    with transaction.atomic():
        raise_if_lost(context.lease)
        store_run(context.lease, context.run)
        held = _keep(context, values, now)
        _store_provider(context, now)
        close_run(
            context.run,
            SyncRun.Status.HELD,
            now,
            seen=len(snapshot.records),
            claims=len(snapshot.claims),
            set_aside=len(snapshot.set_aside),
        )
        open_finding(context.provider.pk, _draft(context.provider, held), now)
    return context.run


def note_still_held(context: SyncContext, held: HeldSnapshot) -> SyncRun:
    """The same implausible response again, waiting or rejected: counted, and not decoded."""
    now = fetch_now()
    with transaction.atomic():
        raise_if_lost(context.lease)
        store_run(context.lease, context.run)
        HeldSnapshot.objects.filter(pk=held.pk).update(
            last_seen_at=now, occurrences=F("occurrences") + 1, sync_run=context.run
        )
        _store_provider(context, now)
        close_run(context.run, SyncRun.Status.HELD, now, seen=held.difference.get("seen", 0))
    return context.run


def settle_waiting(context: SyncContext, now: datetime) -> None:
    """A snapshot was stored: what waited was accepted and is stored with it, or is cleared by it.
    Inside the storing transaction."""
    held = context.held
    if held is None:
        return
    status = _SETTLED.get(HeldSnapshot.Status(held.status))
    # Open or accepted: a person may have decided during this sync.
    if status and HeldSnapshot.objects.filter(pk=held.pk, status__in=_WAITING).update(status=status):
        record_audit(SYSTEM, f"held_snapshot.{status.value}", held, after={"status": status.value})
    resolve_finding(held_fingerprint(context.provider.pk), now)


def held_fingerprint(provider_id: int) -> bytes:
    """Under which the finding of a held snapshot is stored."""
    return compute_fingerprint(Kind.SNAPSHOT_HELD, provider_id, "")


def _keep(context: SyncContext, values: dict[str, object], now: datetime) -> HeldSnapshot:
    last = last_snapshot(context.provider.pk)
    if last is not None and _is_decided(context, last, values):
        _refresh(last, {}, now)
    elif last is not None and last.status in _WAITING:
        if last.status == HeldSnapshot.Status.ACCEPTED:
            _audit(last, values)
        _refresh(last, {**values, "status": _OPEN, "decided_at": None, "decided_by": ""}, now)
    else:
        last = HeldSnapshot.objects.create(
            provider=context.provider, created_at=now, last_seen_at=now, **values
        )
        _audit(last, values)
    return last


def _is_decided(context: SyncContext, last: HeldSnapshot, values: dict[str, object]) -> bool:
    """Whether a person's decision still holds: they rejected exactly this snapshot, or accepted one during
    this sync, and the next sync compares with that."""
    if last.status == HeldSnapshot.Status.REJECTED:
        return last.body_digest == values["body_digest"]
    was_accepted = context.held is not None and context.held.status == HeldSnapshot.Status.ACCEPTED
    return last.status == HeldSnapshot.Status.ACCEPTED and not was_accepted


def _refresh(held: HeldSnapshot, values: dict[str, object], now: datetime) -> None:
    HeldSnapshot.objects.filter(pk=held.pk).update(
        **values, last_seen_at=now, occurrences=F("occurrences") + 1
    )
    held.refresh_from_db(fields=["reasons", "difference", "status", "last_seen_at"])


def _audit(held: HeldSnapshot, values: dict[str, object]) -> None:
    record_audit(SYSTEM, "held_snapshot.opened", held, after={"reasons": values["reasons"]})


def _store_provider(context: SyncContext, now: datetime) -> None:
    Provider.objects.filter(pk=context.provider.pk).update(
        status=Provider.Status.HELD,
        consecutive_failures=0,
        last_error_code="",
        last_error="",
        last_sync_at=now,
        next_sync_at=build_next_sync(context.provider, now),
    )
    resolve_failing(context.provider, now)


def _describe(result: SyncResult, fingerprint: str) -> dict[str, object]:
    difference: dict[str, object] = {**result.plan.tally.to_json(), "fingerprint": fingerprint}
    if result.is_filter_changed and result.known_filter and result.domain_filter:
        difference["domain_filter"] = {
            "before": result.known_filter.to_json(),
            "now": result.domain_filter.to_json(),
        }
    return difference


def _draft(provider: Provider, held: HeldSnapshot) -> FindingDraft:
    reasons = " ".join(reason["text"] for reason in held.reasons)
    return FindingDraft(
        kind=Kind.SNAPSHOT_HELD,
        severity=Severity.CRITICAL,
        subject="",
        explanation=(
            f"The snapshot of {provider.name} is implausible and is held. {reasons} The mirror stays "
            "as it was. Accept or reject the snapshot. The next plausible response clears it."
        ),
        suggestion={"kind": "accept_snapshot", "held_snapshot_id": held.pk},
        details={"difference": held.difference},
    )
