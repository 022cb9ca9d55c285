"""Run an approved transfer, or finish one that an earlier run began."""

from collections.abc import Set
from datetime import timedelta
from functools import partial
from itertools import zip_longest
from uuid import UUID

import structlog
from django.conf import settings

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost, SecretUnavailable, StateMoved
from registry_app.mirror.baseline import ImplausibleResponse
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.ended_rights import NoLongerAllowed, find_ended_right
from registry_app.transfer.plan.frozen import find_transfer_stops
from registry_app.transfer.plan.item_row import iterate_items
from registry_app.transfer.plan.preconditions import find_changed_precondition, find_changed_url
from registry_app.transfer.plan.provider_plan import compute_stored_fingerprint
from registry_app.transfer.send.conclude import conclude, end_stale, withdraw_approval
from registry_app.transfer.send.review import find_changed_items
from registry_app.transfer.send.run_batch import BatchItems, load_batch, run_batch
from registry_app.transfer.send.session import LeasedTransfer, TransferSession, store_outcomes
from registry_app.transfer.send.steps import settle_unfinished
from registry_app.transfer.transfer_row import advance, find_transfer
from registry_app.writes.pace import MOST_ATTEMPTS, Pace, compute_pause
from registry_app.writes.session import ProviderBusy, leased_provider, open_session

_logger = structlog.get_logger(__name__)
_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_RUNNABLE = (_STATUS.APPROVED, _STATUS.SENDING, _STATUS.SENT)
_STOPPED_AGAIN = timedelta(seconds=30)


def run_transfer(transfer_id: UUID | str | int) -> None:
    """Do what can be done for the transfer now; called again, it continues.

    Without the provider's lease nothing happens. Any number of calls, at any time, have the effect of
    one: statuses move by compare-and-swap, and what may have been sent is read back, never sent again.
    """
    transfer = find_transfer(transfer_id)
    if transfer.status not in _RUNNABLE:
        return
    if transfer.status == _STATUS.APPROVED and _waits_for_send_gate(transfer):
        return
    try:
        with leased_provider(transfer.provider_id, f"transfer {transfer.pk}") as leased:
            crash_point("transfer.lease_taken")
            # Read under the lease: a run that just ended may have moved it.
            transfer = find_transfer(transfer.pk)
            if transfer.status in _RUNNABLE:
                _run(LeasedTransfer(transfer=transfer, provider=leased.provider, lease=leased.lease))
    except ProviderBusy:
        return
    except (LeaseLost, StateMoved) as error:
        _logger.warning("transfer.left_to_another_run", transfer=transfer.pk, error=str(error))


def _run(leased: LeasedTransfer) -> None:
    if leased.transfer.status == _STATUS.APPROVED and not _begin(leased):
        return
    if leased.transfer.attempt >= MOST_ATTEMPTS:
        _give_up(leased, leased.transfer.status_reason or "It was tried several times and did not finish.")
        return
    _note_attempt(leased)
    crash_point("transfer.attempt_noted")
    try:
        changed = find_changed_url(leased.transfer, leased.provider)
        if changed:
            _give_up(leased, changed)
            return
        with open_session(leased, partial(TransferSession, transfer=leased.transfer)) as session:
            # Checked again, because somebody may have changed a profile before the stores were opened.
            changed = find_changed_url(leased.transfer, leased.provider)
            if changed:
                _give_up(leased, changed)
                return
            stop_reason = _send_all(session)
            answer = session.answer
    except (ProviderError, WireError, SecretUnavailable) as error:
        if isinstance(error, ImplausibleResponse):
            leased.sync_soon()
        _retry_later(leased, str(error))
        return
    if stop_reason is not None:
        conclude(leased, stop_reason, answer)


def _begin(leased: LeasedTransfer) -> bool:
    """From approved to sending; False if the transfer ended instead (I8)."""
    transfer = leased.transfer
    if transfer.expires_at <= fetch_now():
        return False  # the scheduler expires it
    stored = compute_stored_fingerprint(transfer)
    if not stored == transfer.plan_fingerprint == transfer.approved_fingerprint:
        end_stale(leased, "The plan was changed after it was approved.")
        return False
    ended = find_ended_right(transfer)
    if ended is not None:
        withdraw_approval(leased, ended) if ended.needs_approval else end_stale(leased, ended.reason)
        return False
    with leased.fenced():
        leased.transfer = advance(
            transfer,
            before=[_STATUS.APPROVED],
            after=_STATUS.SENDING,
            actor=SYSTEM,
            epoch=leased.lease.epoch,
            started_at=fetch_now(),
            status_reason="",
            next_attempt_at=None,
        )
    crash_point("transfer.begun")
    return True


def _note_attempt(leased: LeasedTransfer) -> None:
    """Count this run before it begins: one whose worker dies is tried again, and not for ever."""
    transfer = leased.transfer
    transfer.attempt += 1
    Transfer.objects.filter(pk=transfer.pk, status__in=_RUNNABLE).update(
        attempt=transfer.attempt,
        epoch=leased.lease.epoch,
        next_attempt_at=fetch_now() + settings.DNSADMIN_LEASE,
    )


def _send_all(session: TransferSession) -> str | None:
    """Everything that is left to do. The reason to stop early, empty if there was none; None if the
    transfer ended, or goes on in its next run. Raises ProviderError, WireError, LeaseLost."""
    transfer = session.transfer
    settle_unfinished(session)
    if transfer.status == _STATUS.SENT:
        return ""
    changed = find_changed_precondition(transfer, session.provider)
    if changed:
        return changed
    if not transfer.steps.exists() and not _is_as_reviewed(session):
        return None
    numbers = (
        transfer.items.filter(status__in=(_ITEM.PENDING, _ITEM.SENDING))
        .order_by("batch")
        .values_list("batch", flat=True)
        .distinct()
    )
    return _run_batches(session, list(numbers))


def _run_batches(session: TransferSession, numbers: list[int]) -> str | None:
    read: Set[str] = frozenset()
    pace = Pace(session)
    # Only this run changes items, each in its own batch: they are loaded once.
    following = load_batch(session, numbers[0]) if numbers else BatchItems()
    for number, next_number in zip_longest(numbers, numbers[1:]):
        if pace.is_over_time():
            _postpone(session.transfer, "", at_once=True)
            return None
        session.batch = number
        items = following
        for stop in find_transfer_stops(session.transfer, items.rows):
            return stop.happened
        following = load_batch(session, next_number) if next_number is not None else BatchItems()
        names = items.names | following.names
        if not items.names <= read:
            session.read(names)
            for stop in find_transfer_stops(session.transfer, items.rows):
                return stop.happened  # somebody may have stopped it during a slow read
        try:
            run_batch(session, items, names)
        except NoLongerAllowed as ended:
            return str(ended)
        Transfer.objects.filter(pk=session.transfer.pk, attempt__gt=0).update(attempt=0)
        read = names
        pace.note_batch(has_changed=items.is_any_verified)
        if pace.describe_failures():
            return pace.describe_failures()
    return ""


def _is_as_reviewed(session: TransferSession) -> bool:
    """Whether all is as it was reviewed; if not, the transfer ends stale, nothing sent."""
    session.renew(1 + len(session.stores))
    # Only a whole reading shows what the claims in registry stores are for.
    names = None if session.registries.are_any else session.list_names()
    reading = session.zone_reader.read(names, follows_links=True)
    session.raise_if_implausible(reading)
    snapshot = session.read_stores(reading)
    for read in snapshot.contents:
        session.unchanged_rows.raise_if_implausible(
            read.reference, session.store_names[read.reference], read.claims
        )
    items = iterate_items(session.transfer.items.all())
    changed = find_changed_items(snapshot, items, session.transfer.kind, session.store_names)
    crash_point("transfer.reviewed")
    if not changed:
        return True
    first = next(iter(changed.values()))
    more = f" ({len(changed) - 1} more moved)" if len(changed) > 1 else ""
    with session.fenced():
        store_outcomes({pk: (_ITEM.STALE, reason) for pk, reason in changed.items()})
        end_stale(session, f"{first}{more}")
    return False


def _waits_for_send_gate(transfer: Transfer) -> bool:
    for stop in find_transfer_stops(transfer):
        Transfer.objects.filter(pk=transfer.pk, status=_STATUS.APPROVED).update(
            status_reason=f"{stop.happened} It is sent when this no longer applies.",
            next_attempt_at=fetch_now() + _STOPPED_AGAIN,
        )
        return True
    return False


def _retry_later(leased: LeasedTransfer, problem: str) -> None:
    """The provider cannot be reached or read now: try again with longer and longer pauses, then give up."""
    leased.transfer.refresh_from_db()
    if leased.transfer.attempt < MOST_ATTEMPTS:
        _postpone(leased.transfer, problem)
    else:
        _give_up(leased, problem)


def _give_up(leased: LeasedTransfer, problem: str) -> None:
    """End it. What may have been sent and was not read back needs an operator."""
    unsettled = leased.transfer.items.filter(status=_ITEM.SENDING).values_list("pk", flat=True)
    reason = f"It was sent, or may have been, and could not be read back: {problem}"
    with leased.fenced():
        store_outcomes(dict.fromkeys(unsettled, (_ITEM.NEEDS_OPERATOR, reason)))
    # Without a sync: an unexpected error in it would keep the transfer from ending, for ever.
    conclude(leased, problem, syncs=False)


def _postpone(transfer: Transfer, problem: str, *, at_once: bool = False) -> None:
    pause = timedelta(0) if at_once else compute_pause(transfer.attempt - 1)
    Transfer.objects.filter(pk=transfer.pk, status__in=_RUNNABLE).update(
        status_reason=f"{problem} It is tried again." if problem else "",
        attempt=0 if at_once else transfer.attempt,
        next_attempt_at=fetch_now() + pause,
    )
