"""Run an approved transfer, or finish one that an earlier run began."""

from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost, SecretUnavailable, StateMoved
from registry_app.mirror.believable import raise_if_unbelievable
from registry_app.mirror.client import build_client
from registry_app.mirror.open_stores import open_stores
from registry_app.mirror.profiles import fetch_txt_profiles
from registry_app.mirror.registries import fetch_registries
from registry_app.mirror.snapshot import fetch_snapshot
from registry_app.models import Transfer, TransferItem
from registry_app.queries.send_gate import find_send_stops
from registry_app.reconcile.lease import raise_if_lost, release_lease, take_lease
from registry_app.transfer.advance import advance
from registry_app.transfer.find_transfer import find_transfer
from registry_app.transfer.plan.premises import find_moved_place, find_moved_premise
from registry_app.transfer.plan.stored_fingerprint import compute_stored_fingerprint
from registry_app.transfer.send.believable_zone import count_shown_in
from registry_app.transfer.send.conclude import conclude, end_stale, withdraw_approval
from registry_app.transfer.send.review import find_moved_items
from registry_app.transfer.send.run import Hold, Run, name_run, store_outcomes
from registry_app.transfer.send.run_batch import load_batch, names_of, run_batch
from registry_app.transfer.send.settle import settle_unfinished
from registry_app.transfer.send.void_approval import RightEnded, find_ended_right

_logger = structlog.get_logger(__name__)
_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_RUNNABLE = (_STATUS.APPROVED, _STATUS.SENDING, _STATUS.SENT)
_STOPPED_AGAIN = timedelta(seconds=30)
_FIRST_RETRY = timedelta(seconds=10)
_LONGEST_RETRY = timedelta(minutes=5)
_MOST_ATTEMPTS = 6
# A provider that refuses everything is not asked a thousand times.
_MOST_FAILED_IN_A_ROW = 3
_MOST_FAILED_IN_A_ROW_ALONE = 10


def run_transfer(transfer_id: UUID | str | int) -> None:
    """Take the transfer as far as it goes now; called again, it goes on where it was.

    Without the provider's lease nothing happens. Any number of calls, at any time, have the effect of
    one: statuses move by compare-and-swap, and what may have been sent is looked at, never sent again.
    """
    transfer = find_transfer(transfer_id)
    if transfer.status not in _RUNNABLE:
        return
    if transfer.status == _STATUS.APPROVED and _waits_for_send_gate(transfer):
        return
    lease = take_lease(transfer.provider_id, name_run(transfer))
    if lease is None:
        return
    crash_point("transfer.lease_taken")
    # Read under the lease: a run that just ended may have moved it.
    transfer = find_transfer(transfer.pk)
    hold = Hold(transfer, transfer.provider, lease)
    try:
        if transfer.status in _RUNNABLE:
            _run(hold)
    except (LeaseLost, StateMoved) as error:
        _logger.warning("transfer.left_to_another_run", transfer=transfer.pk, error=str(error))
    finally:
        release_lease(lease)


def _run(hold: Hold) -> None:
    if hold.transfer.status == _STATUS.APPROVED and not _begin(hold):
        return
    if hold.transfer.attempt >= _MOST_ATTEMPTS:
        _give_up(hold, hold.transfer.status_reason or "It was tried several times and came to no end.")
        return
    _note_attempt(hold)
    crash_point("transfer.attempt_noted")
    try:
        moved = find_moved_place(hold.transfer, hold.provider)
        if moved:
            _give_up(hold, moved)
            return
        profiles = {profile.reference: profile for profile in fetch_txt_profiles(hold.provider)}
        with build_client(hold.provider) as client:
            stores = open_stores(hold.provider, client, remembers=True)
            # Once more: what was opened is what was reviewed, whoever changed a profile in between.
            moved = find_moved_place(hold.transfer, hold.provider)
            if moved:
                _give_up(hold, moved)
                return
            run = Run(hold.transfer, hold.provider, hold.lease, client, profiles, stores)
            stop_reason = _send_all(run)
    except (ProviderError, WireError, SecretUnavailable) as error:
        _retry_later(hold, str(error))
        return
    if stop_reason is not None:
        conclude(hold, stop_reason)


def _begin(run: Hold) -> bool:
    """From approved to sending; False if the transfer ended instead (I8)."""
    transfer = run.transfer
    if transfer.expires_at <= fetch_now():
        return False  # the scheduler expires it
    stored = compute_stored_fingerprint(transfer)
    if not stored == transfer.plan_fingerprint == transfer.approved_fingerprint:
        end_stale(run, "The plan was edited after it was approved.")
        return False
    ended = find_ended_right(transfer)
    if ended is not None:
        withdraw_approval(run, ended.reason) if ended.needs_approval else end_stale(run, ended.reason)
        return False
    with transaction.atomic():
        raise_if_lost(run.lease)
        run.transfer = advance(
            transfer,
            before=[_STATUS.APPROVED],
            after=_STATUS.SENDING,
            actor=SYSTEM,
            epoch=run.lease.epoch,
            started_at=fetch_now(),
            status_reason="",
            next_look_at=None,
        )
    crash_point("transfer.begun")
    return True


def _note_attempt(hold: Hold) -> None:
    """Count this run before it begins: one that dies without a word is looked at again, and not for ever."""
    transfer = hold.transfer
    transfer.attempt += 1
    Transfer.objects.filter(pk=transfer.pk, status__in=_RUNNABLE).update(
        attempt=transfer.attempt,
        epoch=hold.lease.epoch,
        next_look_at=fetch_now() + settings.DNSADMIN_LEASE,
    )


def _send_all(run: Run) -> str | None:
    """Everything that is left to do. The reason to stop early, empty if there was none; None if the
    transfer ended, or gives way to its next run. Raises ProviderError, WireError, LeaseLost."""
    transfer = run.transfer
    settle_unfinished(run)
    if transfer.status == _STATUS.SENT:
        return ""
    moved = find_moved_premise(transfer, run.provider)
    if moved:
        return moved
    if not transfer.steps.exists() and not _is_as_reviewed(run):
        return None
    numbers = (
        transfer.items.filter(status__in=(_ITEM.PENDING, _ITEM.SENDING))
        .order_by("batch")
        .values_list("batch", flat=True)
        .distinct()
    )
    return _run_batches(run, list(numbers))


def _run_batches(run: Run, numbers: list[int]) -> str | None:
    held: set[str] = set()
    failed_in_a_row = 0
    for place, number in enumerate(numbers):
        if place and run.is_over_time():  # not before the first: a slow provider's would never come
            _postpone(run.transfer, "", at_once=True)
            return None
        for stop in find_send_stops(run.provider):
            return stop.happened
        run.batch = number
        items = load_batch(run, number)
        following = load_batch(run, numbers[place + 1]) if place + 1 < len(numbers) else []
        names = names_of(items) | names_of(following)
        if not names_of(items) <= held:
            run.read(names)
            for stop in find_send_stops(run.provider):
                return stop.happened  # a slow answer may take longer than a decision
        try:
            run_batch(run, items, names)
        except RightEnded as ended:
            return str(ended)
        Transfer.objects.filter(pk=run.transfer.pk, attempt__gt=0).update(attempt=0)
        held = names
        failed_in_a_row = 0 if _has_verified(run, number) else failed_in_a_row + 1
        if failed_in_a_row >= _bound_of_failures(run):
            return f"{failed_in_a_row} requests in a row changed nothing, so no more were sent."
    return ""


def _is_as_reviewed(run: Run) -> bool:
    """Whether all stands as it was reviewed; if not, the transfer ends stale, nothing sent."""
    run.renew(1 + len(run.stores))
    registries = fetch_registries(run.provider)
    snapshot = fetch_snapshot(
        run.provider, run.client, list(run.profiles.values()), registries, run.stores.values()
    )
    raise_if_unbelievable(run.provider, snapshot.shown)
    if snapshot.item_count:
        run.known_zone.raise_if_unbelievable(count_shown_in(snapshot))
    for read in snapshot.contents:
        run.known_rows.raise_if_unbelievable(read.reference, run.store_names[read.reference], read.claims)
    items = run.transfer.items.order_by("ordinal").iterator(chunk_size=2_000)
    moved = find_moved_items(snapshot, items, run.transfer.kind, run.store_names)
    crash_point("transfer.reviewed")
    if not moved:
        return True
    first = next(iter(moved.values()))
    more = f" ({len(moved) - 1} more moved)" if len(moved) > 1 else ""
    with transaction.atomic():
        raise_if_lost(run.lease)
        store_outcomes({pk: (_ITEM.STALE, reason) for pk, reason in moved.items()})
        end_stale(run, f"{first}{more}")
    return False


def _has_verified(run: Run, batch: int) -> bool:
    return run.transfer.items.filter(batch=batch, status=_ITEM.VERIFIED).exists()


def _bound_of_failures(run: Run) -> int:
    alone = run.provider.effective_batch_size == 1
    return _MOST_FAILED_IN_A_ROW_ALONE if alone else _MOST_FAILED_IN_A_ROW


def _waits_for_send_gate(transfer: Transfer) -> bool:
    for stop in find_send_stops(transfer.provider):
        Transfer.objects.filter(pk=transfer.pk, status=_STATUS.APPROVED).update(
            status_reason=f"{stop.happened} It is sent when that is over.",
            next_look_at=fetch_now() + _STOPPED_AGAIN,
        )
        return True
    return False


def _retry_later(run: Hold, problem: str) -> None:
    """The provider cannot be reached or read now: try again, more and more seldom; in the end, end."""
    run.transfer.refresh_from_db()
    if run.transfer.attempt < _MOST_ATTEMPTS:
        _postpone(run.transfer, problem)
    else:
        _give_up(run, problem)


def _give_up(run: Hold, problem: str) -> None:
    """End it as far as it came; what may have been sent and was not seen again is for an operator."""
    unsettled = run.transfer.items.filter(status=_ITEM.SENDING).values_list("pk", flat=True)
    reason = f"It was sent, or may have been, and could not be read back: {problem}"
    with transaction.atomic():
        raise_if_lost(run.lease)
        store_outcomes(dict.fromkeys(unsettled, (_ITEM.NEEDS_OPERATOR, reason)))
    # Without a visit: should it be the visit that fails, and not as visits do, it must not fail for ever.
    conclude(run, problem, visits=False)


def _postpone(transfer: Transfer, problem: str, *, at_once: bool = False) -> None:
    pause = timedelta(0) if at_once else min(_FIRST_RETRY * 2 ** (transfer.attempt - 1), _LONGEST_RETRY)
    Transfer.objects.filter(pk=transfer.pk, status__in=_RUNNABLE).update(
        status_reason=f"{problem} It is tried again." if problem else "",
        attempt=0 if at_once else transfer.attempt,
        next_look_at=fetch_now() + pause,
    )
