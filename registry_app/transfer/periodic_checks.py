"""What is checked of transfers from time to time: expired, begun and not finished, or applied late.

A provider may apply a change late, after it was read back as before. The mirror shows after each sync whether
anything of a failed transfer arrived. If it did, the transfer is reopened, and its next run reads the
provider itself: only that decides (I6). Nothing is ever sent from here.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet

from providers.wire.endpoint import EndpointKey
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import StateMoved
from registry_app.models import UNSETTLED, Finding, Provider, RecordSet, Transfer, TransferItem, TransferStep
from registry_app.queries.transfer_items import find_watched
from registry_app.reconcile.findings.draft import FindingDraft
from registry_app.reconcile.store_findings import open_finding
from registry_app.transfer.plan.preconditions import find_changed_url
from registry_app.transfer.plan.subjects import load_shown
from registry_app.transfer.send.conclude import compute_stuck_fingerprint
from registry_app.transfer.send.item_plan import key_of, plan_of
from registry_app.transfer.send.steps import load_earlier
from registry_app.transfer.transfer_row import advance, compute_lock_key, name_transfer
from registry_app.writes.read_back import is_same_text

_MOST_AT_ONCE = 500
_WAITING = (Transfer.Status.REQUESTED, Transfer.Status.APPROVED)
UNFINISHED_AFTER = timedelta(minutes=15)
_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_STEP = TransferStep.Status
_NOT_ARRIVED = (_ITEM.FAILED, _ITEM.NEEDS_OPERATOR)
_SETTLED_OTHERWISE = (_STEP.FAILED, _STEP.NEEDS_OPERATOR, *UNSETTLED)
# A newer transfer that ended like this, or an item of it, wrote nothing at its names.
_NEVER_SENT = (_STATUS.REJECTED, _STATUS.CANCELLED, _STATUS.EXPIRED, _STATUS.STALE)
_CHUNK = 500


def expire_transfers() -> int:
    """Expire every transfer that still waits after its expiry time; how many."""
    now = fetch_now()
    expired = 0
    for transfer in Transfer.objects.filter(status__in=_WAITING, expires_at__lte=now)[:_MOST_AT_ONCE]:
        try:
            advance(
                transfer,
                before=_WAITING,
                after=Transfer.Status.EXPIRED,
                actor=SYSTEM,
                status_reason=f"Nothing was sent until {transfer.expires_at:%Y-%m-%d %H:%M} UTC.",
            )
        except StateMoved:
            continue  # its worker, or a person, was first
        expired += 1
    return expired


def note_unfinished_transfers() -> int:
    """Open a finding for each transfer that began long ago and is not finished; how many."""
    now = fetch_now()
    unfinished = Transfer.objects.filter(
        status__in=(Transfer.Status.SENDING, Transfer.Status.SENT),
        started_at__lt=now - UNFINISHED_AFTER,
        # One that was reopened began long ago, and gets the same time again.
        updated_at__lt=now - UNFINISHED_AFTER,
    )
    fingerprints = {compute_stuck_fingerprint(transfer): transfer for transfer in unfinished.order_by("pk")}
    known = Finding.objects.filter(fingerprint__in=list(fingerprints)).exclude(state=Finding.State.RESOLVED)
    noted = {bytes(fingerprint) for fingerprint in known.values_list("fingerprint", flat=True)}
    new = [transfer for fingerprint, transfer in fingerprints.items() if fingerprint not in noted]
    for transfer in new:
        with transaction.atomic():
            open_finding(transfer.provider_id, _draft_unfinished(transfer), now)
    return len(new)


def _draft_unfinished(transfer: Transfer) -> FindingDraft:
    return FindingDraft(
        kind=Finding.Kind.TRANSFER_STUCK,
        severity=Finding.Severity.WARNING,
        subject=str(transfer.public_id),
        explanation=(
            f"{name_transfer(transfer).capitalize()} began at {transfer.started_at:%Y-%m-%d %H:%M} UTC and "
            f"is not finished. {transfer.status_reason or 'A worker goes on with it when it comes to it.'}"
        ),
        suggestion={"kind": "look_at_transfer", "transfer_id": transfer.pk},
    )


def reopen_if_applied_late(provider_id: int) -> int:
    """Reopen the failed transfers of which something arrived, as the last accepted snapshot shows; how many.

    Each is checked once for each accepted snapshot. Raises SecretUnavailable.
    """
    provider = Provider.objects.get(pk=provider_id)
    reopened = 0
    for transfer in find_watched(fetch_now()).filter(provider=provider).order_by("-pk"):
        arrived = [] if find_changed_url(transfer, provider) else _find_arrived(transfer)
        if arrived and _reopen(transfer, arrived):
            reopened += 1
        else:
            watched = Transfer.objects.filter(pk=transfer.pk, status=_STATUS.FAILED)
            watched.update(watched_at=provider.accepted_at)
    return reopened


def _find_arrived(transfer: Transfer) -> list[TransferItem]:
    """The items of which the mirror shows something that was sent and was not read back as sent."""
    waiting = _without_newer(transfer).order_by("batch", "ordinal")
    arrived: list[TransferItem] = []
    for batch, items in groupby(waiting.iterator(chunk_size=_CHUNK), key=lambda item: item.batch):
        earlier = load_earlier(transfer, batch)
        sent = {key: new for key, new in earlier.sent.items() if key not in earlier.verified}
        for chunk in _chunk(items):
            names = sorted({item.name for item in chunk})
            shown = load_shown(transfer.provider, names)
            existing = _load_existing(transfer, names)
            for item in chunk:
                is_there = item.record_before is None or key_of(item) in existing
                changed = plan_of(item, transfer.kind).changed
                wanted = {key: sent[key] for key in changed if key in sent}
                texts = {key: new.targets if new else () for key, new in wanted.items()}
                if is_there and any(is_same_text(shown.get(key, ()), texts[key]) for key in texts):
                    arrived.append(item)
    return arrived


def _without_newer(transfer: Transfer) -> QuerySet[TransferItem]:
    """The items that failed and whose names no newer transfer has, or had."""
    newer = TransferItem.objects.filter(
        transfer__provider=transfer.provider_id, transfer__gt=transfer.pk, name=OuterRef("name")
    )
    newer = newer.exclude(transfer__status__in=_NEVER_SENT).exclude(status=_ITEM.STALE)
    return transfer.items.filter(~Exists(newer), status__in=_NOT_ARRIVED)


def _reopen(transfer: Transfer, arrived: list[TransferItem]) -> bool:
    """Set it to `sent`, so that a run reads it back; False if another transfer has its names by now."""
    locks = {item.name: item.pk for item in reversed(arrived)}
    batches = {item.batch for item in arrived}
    try:
        with transaction.atomic():
            advance(
                transfer,
                before=[_STATUS.FAILED],
                after=_STATUS.SENT,
                actor=SYSTEM,
                reason="A sync found that the provider applied it late.",
                status_reason="A sync found that the provider applied a part of it late. It is read back.",
                attempt=0,
                next_attempt_at=None,
                finished_at=None,
                watched_at=transfer.provider.accepted_at,
            )
            for name, pk in locks.items():
                TransferItem.objects.filter(pk=pk).update(
                    lock_key=compute_lock_key(transfer.provider_id, name)
                )
            for chunk in _chunk(arrived):
                TransferItem.objects.filter(pk__in=[item.pk for item in chunk]).update(status=_ITEM.SENDING)
            unclear = transfer.steps.filter(batch__in=batches, status__in=_SETTLED_OTHERWISE)
            unclear.update(status=_STEP.UNKNOWN)
    except (IntegrityError, StateMoved):
        return False  # a newer transfer has a name, or an undo was first: it is checked again next time
    crash_point("transfer.reopened")
    return True


def _load_existing(transfer: Transfer, names: list[str]) -> set[EndpointKey]:
    rows = RecordSet.objects.filter(provider=transfer.provider_id, name__in=names, missing_since__isnull=True)
    return {EndpointKey(*key) for key in rows.values_list("name", "record_type", "set_identifier")}


def _chunk(items: Iterable[TransferItem]) -> Iterator[list[TransferItem]]:
    chunk: list[TransferItem] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
