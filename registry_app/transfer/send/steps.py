"""Storing a step before it is sent, sending it once, and storing what came of it (I5, I6)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max

from providers.http.errors import NothingSent, OutcomeUnknown
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost
from registry_app.mirror.written import Change
from registry_app.models import Transfer, TransferItem, TransferStep
from registry_app.outside_copy import DatabaseRestored, announce_send, count_send
from registry_app.reconcile.lease import raise_if_lost
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, format_endpoint
from registry_app.transfer.send.change_sets import Earlier, changes_in
from registry_app.transfer.send.item_plan import Leg
from registry_app.transfer.send.look import ReadBack
from registry_app.transfer.send.run import Run, store_outcomes
from registry_app.transfer.send.store_changes import store_changes_in
from registry_app.transfer.send.void_approval import RightEnded, find_ended_right

_STATUS = TransferStep.Status
_MOST_ENDPOINTS = 1_000_000
# Sent, perhaps sent, or answered: only looking tells.
UNSETTLED = (_STATUS.SENDING, _STATUS.ANSWERED, _STATUS.UNKNOWN)

ItemOutcome = tuple[str, str]  # TransferItem.Status value, reason


def store_step(run: Run, leg: Leg, batch: int, body: bytes, items: Sequence[TransferItem]) -> TransferStep:
    """Write down what is about to be sent, and mark its items; committed when this returns.

    Raises LeaseLost, RightEnded.
    """
    store = int(leg.store) if leg.store else None
    with transaction.atomic():
        raise_if_lost(run.lease)
        _raise_if_right_ended(run.transfer, items)
        alike = run.transfer.steps.filter(phase=leg.phase, batch=batch, registry_profile=store)
        earlier = alike.aggregate(last=Max("attempt"))["last"]
        step = TransferStep.objects.create(
            transfer=run.transfer,
            phase=leg.phase,
            batch=batch,
            registry_profile_id=store,
            attempt=(earlier or 0) + 1,
            change_set=body.decode(),
            body_digest=hashlib.sha256(body).hexdigest(),
            epoch=run.lease.epoch,
            stored_at=fetch_now(),
        )
        store_outcomes({item.pk: (TransferItem.Status.SENDING, "") for item in items})
    crash_point("transfer.stored")
    crash_point(f"transfer.{leg.phase}_stored")
    return step


def _raise_if_right_ended(transfer: Transfer, items: Sequence[TransferItem]) -> None:
    """Raise RightEnded where something would begin whose requester or approver may not have it done any more.

    What was begun is finished: a new claim without the removal of the old one names two owners.
    """
    sides = [(item.owner_before, item.name) for item in items if item.status == TransferItem.Status.PENDING]
    ended = find_ended_right(transfer, sides) if sides else None
    if ended is not None:
        raise RightEnded(ended.reason)


def send_step(run: Run, step: TransferStep) -> None:
    """Send the stored bytes, once, outside any transaction. Raises NothingSent, LeaseLost.

    Before the first byte the step is marked: a step found without the mark was never sent, and one found
    with it is never sent again, whatever happened to its sender.
    """
    run.renew()
    with transaction.atomic():
        raise_if_lost(run.lease)
        moved = TransferStep.objects.filter(pk=step.pk, status=_STATUS.STORED).update(
            status=_STATUS.SENDING, epoch=run.lease.epoch
        )
        if not moved:
            raise LeaseLost(
                f"Step {step.pk} is in other hands.", now="This run sent nothing.", todo="Nothing."
            )
        count_send()
    crash_point(f"transfer.{step.phase}_marked")
    try:
        announce_send()
    except DatabaseRestored as error:
        _store_answer(run, step, _STATUS.NOT_SENT, str(error))
        raise
    if fetch_now() >= run.lease.until:
        raise LeaseLost("The lease ended before the step was sent.", todo="Nothing: the next run looks.")
    try:
        run.send(leg_of(step).store, step.change_set.encode())
    except NothingSent as error:
        _store_answer(run, step, _STATUS.NOT_SENT, str(error))
        raise
    except OutcomeUnknown as error:
        crash_point(f"transfer.{step.phase}_sent")
        _store_answer(run, step, _STATUS.UNKNOWN, str(error))
    else:
        crash_point(f"transfer.{step.phase}_sent")
        _store_answer(run, step, _STATUS.ANSWERED, "Success was answered.")
    crash_point(f"transfer.{step.phase}_answered")


def settle_step(run: Run, step: TransferStep, found: ReadBack, outcomes: Mapping[int, ItemOutcome]) -> None:
    """Store what the provider shows for a step, and what that means for each of its items."""
    crash_point(f"transfer.{step.phase}_looked")
    with transaction.atomic():
        raise_if_lost(run.lease)
        TransferStep.objects.filter(pk=step.pk).update(
            status=_judge_step(found),
            read_back=_format_read_back(found),
            read_back_at=fetch_now(),
        )
        store_outcomes(outcomes)
    crash_point(f"transfer.{step.phase}_settled")


def leg_of(step: TransferStep) -> Leg:
    """Where a stored step goes, and in which phase."""
    return Leg(step.phase, ZONE if step.registry_profile_id is None else str(step.registry_profile_id))


def changes_of_step(step: TransferStep) -> dict[ClaimKey, Change]:
    """The changes of a stored step, from its exact bytes."""
    body, store = step.change_set.encode(), leg_of(step).store
    if store != ZONE:
        return store_changes_in(body, store)
    return changes_in(decode_change_set_strict(body, max_items=_MOST_ENDPOINTS))


def load_earlier(transfer: Transfer, batch: int) -> Earlier:
    """What the steps of a batch wrote, or may have written, and what of it was read back."""
    sent: dict[ClaimKey, Endpoint | None] = {}
    verified: set[ClaimKey] = set()
    for step in transfer.steps.filter(batch=batch).exclude(status=_STATUS.NOT_SENT).order_by("pk"):
        changes = changes_of_step(step)
        sent.update({key: change.new for key, change in changes.items()})
        verified -= changes.keys()
        verified |= {key for key, outcome in outcomes_of_step(step).items() if outcome == "new"}
    return Earlier(sent, frozenset(verified))


def outcomes_of_step(step: TransferStep) -> dict[ClaimKey, str]:
    """What was read back of each of a step's changes; empty before that."""
    return {claim_key_of_row(row): str(row["outcome"]) for row in step.read_back or []}


def claim_key_of_row(row: Mapping[str, Any]) -> ClaimKey:
    """The place of one row of `TransferStep.read_back`."""
    return ClaimKey(row["store"], row["name"], row["record_type"], row["set_identifier"])


def _store_answer(run: Run, step: TransferStep, status: str, answer: str) -> None:
    # Not fenced: what came back is true whoever has the lease now, and only the mark's owner gets here.
    TransferStep.objects.filter(pk=step.pk, status=_STATUS.SENDING, epoch=run.lease.epoch).update(
        status=status, answer=answer, answered_at=fetch_now()
    )
    step.status = status


def _judge_step(found: ReadBack) -> str:
    outcomes = set(found.outcomes.values())
    if "neither" in outcomes:
        return _STATUS.NEEDS_OPERATOR
    return _STATUS.FAILED if "old" in outcomes else _STATUS.VERIFIED


def _format_read_back(found: ReadBack) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for key, outcome in found.outcomes.items():
        live = found.zone.standing(key)
        rows.append(
            {
                "store": key.store,
                "name": key.name,
                "record_type": key.record_type,
                "set_identifier": key.set_identifier,
                "outcome": outcome,
                "endpoint": format_endpoint(live, "") if live is not None else None,
            }
        )
    return rows
