"""The steps of a transfer: stored before they are sent, and settled by what is read, also after a crash."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Max

from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict
from registry_app.models import StepStatus, Transfer, TransferItem, TransferStep
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, format_endpoint
from registry_app.transfer.plan.preconditions import NoLongerAllowed, find_ended_right
from registry_app.transfer.send.change_sets import Earlier, changes_in, store_changes_in
from registry_app.transfer.send.item_plan import ItemOutcome, StepTarget, names_of, plan_of
from registry_app.transfer.send.read_back import ReadBack, judge_items, mark_late, read_back
from registry_app.transfer.send.session import TransferSession, store_outcomes
from registry_app.writes.read_back import Change
from registry_app.writes.step import resume_steps, settle_step, store_step

_STATUS = TransferStep.Status
_MOST_ENDPOINTS = 1_000_000
_ITEM = TransferItem.Status


def store_transfer_step(
    session: TransferSession, step_target: StepTarget, body: bytes, items: Sequence[TransferItem]
) -> TransferStep:
    """Store what is about to be sent for a step of a batch, and mark its items.

    Raises LeaseLost, NoLongerAllowed.
    """

    def build() -> TransferStep:
        _raise_if_right_ended(session.transfer, items)
        store_outcomes({item.pk: (TransferItem.Status.SENDING, "") for item in items})
        place = {
            "phase": step_target.phase,
            "batch": items[0].batch,
            "registry_profile": _profile_of(step_target),
        }
        earlier = session.transfer.steps.filter(**place).aggregate(last=Max("attempt"))["last"]
        return TransferStep(
            transfer=session.transfer,
            phase=step_target.phase,
            batch=items[0].batch,
            registry_profile_id=_profile_of(step_target),
            attempt=(earlier or 0) + 1,
        )

    return store_step(session, body, build)


def settle_transfer_step(
    session: TransferSession, step: TransferStep, found: ReadBack, outcomes: Mapping[int, ItemOutcome]
) -> None:
    """Store what is shown for a step, and what that means for each of its items. Raises LeaseLost."""
    settle_step(
        session,
        step,
        _judge_step(found),
        store_outcome=lambda: store_outcomes(outcomes),
        read_back=_format_read_back(found),
    )


def changes_of_step(step: TransferStep) -> dict[ClaimKey, Change]:
    """The changes of a stored step, from its exact bytes."""
    body = step.change_set.encode()
    if step.store:
        return store_changes_in(body, step.store)
    return changes_in(decode_change_set_strict(body, max_items=_MOST_ENDPOINTS))


def load_earlier(transfer: Transfer, batch: int) -> Earlier:
    """What the steps of a batch wrote, or may have written, and what of it was read back."""
    sent: dict[ClaimKey, Endpoint | None] = {}
    verified: set[ClaimKey] = set()
    for step in transfer.steps.filter(batch=batch).exclude(status=StepStatus.NOT_SENT).order_by("pk"):
        changes = changes_of_step(step)
        sent.update({key: change.new for key, change in changes.items()})
        verified -= changes.keys()
        verified |= {claim_key_of_row(row) for row in step.read_back or [] if row["outcome"] == "new"}
    return Earlier(sent, frozenset(verified))


def claim_key_of_row(row: Mapping[str, Any]) -> ClaimKey:
    """The place of one row of `TransferStep.read_back`."""
    return ClaimKey(row["store"], row["name"], row["record_type"], row["set_identifier"])


def _profile_of(step_target: StepTarget) -> int | None:
    return None if step_target.store == ZONE else int(step_target.store)


def _raise_if_right_ended(transfer: Transfer, items: Sequence[TransferItem]) -> None:
    """Raise NoLongerAllowed where an item would begin and its requester or approver lost the right to it.

    What was begun is finished: a new claim without the removal of the old one names two owners.
    """
    sides = [(item.owner_before, item.name) for item in items if item.status == TransferItem.Status.PENDING]
    ended = find_ended_right(transfer, sides) if sides else None
    if ended is not None:
        raise NoLongerAllowed(ended.reason)


def _judge_step(found: ReadBack) -> str:
    outcomes = set(found.outcomes.values())
    if "neither" in outcomes:
        return _STATUS.NEEDS_OPERATOR
    return _STATUS.FAILED if "old" in outcomes else _STATUS.VERIFIED


def _format_read_back(found: ReadBack) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for key, outcome in found.outcomes.items():
        live = found.zone.find(key)
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


def settle_unfinished(session: TransferSession) -> None:
    """Read what became of every step that was sent, or may have been; call off those that were not.

    Raises ProviderError, WireError, LeaseLost.
    """
    resume_steps(
        session,
        session.transfer.steps.all(),
        lambda step: _settle_by_reading(session, step),
        note_called_off=lambda step: _free_items(session, step),
    )


def _free_items(session: TransferSession, step: TransferStep) -> None:
    """The items of a step that never left wait for a new one.

    Those of which an earlier step was verified stay where they are: under way.
    """
    transfer = session.transfer
    verified = load_earlier(transfer, step.batch).verified
    items = transfer.items.filter(batch=step.batch, status=_ITEM.SENDING)
    waiting = [item for item in items if verified.isdisjoint(plan_of(item, transfer.kind).changed)]
    store_outcomes({item.pk: (_ITEM.PENDING, "") for item in waiting})


def _settle_by_reading(session: TransferSession, step: TransferStep) -> None:
    transfer = session.transfer
    session.batch = step.batch
    changes = changes_of_step(step)
    items = list(transfer.items.filter(batch=step.batch, status=_ITEM.SENDING).order_by("ordinal"))
    names = names_of(items) | {key.name for key in changes}
    found = read_back(session, changes, names, since=step.answered_at or step.stored_at)
    judged = judge_items(items, transfer.kind, StepTarget(step.phase, step.store), found)
    if transfer.watch_until is not None:  # it had ended as failed before
        judged = {pk: mark_late(outcome) for pk, outcome in judged.items()}
    settle_transfer_step(session, step, found, judged)
