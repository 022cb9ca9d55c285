"""The steps of a transfer: stored before they are sent, read back, and settled, also after a crash.

Only what provider and stores show then decides what became of a step and of its items.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db.models import Max

from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict
from registry_app.models import StepStatus, Transfer, TransferItem, TransferStep
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, describe_place, format_endpoint
from registry_app.transfer.plan.ended_rights import NoLongerAllowed, find_ended_right
from registry_app.transfer.plan.item_row import ItemRow, iterate_items
from registry_app.transfer.send.change_sets import Earlier, store_changes_in, zone_changes_in
from registry_app.transfer.send.item_plan import ItemOutcome, ItemPlan, StepTarget, key_of, names_of, plan_of
from registry_app.transfer.send.live_zone import LiveZone
from registry_app.transfer.send.session import TransferSession, store_outcomes
from registry_app.writes.read_back import Change, is_as_written, read_until
from registry_app.writes.step import resume_steps, settle_step, store_step

Outcome = Literal["new", "old", "neither"]
_ITEM = TransferItem.Status
_REMOVE = TransferStep.Phase.REMOVE
ARRIVED_LATE = "Arrived late."
_AS_BEFORE = (
    "It was read back as before. The provider may still apply it: syncs check that for 24 hours. You "
    "can request it again."
)
_BOTH_EXIST = (
    "The new claim exists, and the claim that it replaces was not removed: the two may name "
    "different owners. Send again to remove the old one."
)
# Of an item of which some claims were verified, and the rest was not sent.
HALF_DONE = (
    "It stopped before its end: some changes were written, and later ones, such as the removal of "
    "the old claim, were not sent. Two claims may name different owners. Send again to finish it."
)
_HALF_REMOVED = "Some of its claims are removed, and others are still there. Send again to remove the rest."
_HALF_WRITTEN = (
    "Some of its claims are written, and others were read back as before. Send again to write the rest."
)
_STATUS = TransferStep.Status
_MOST_ENDPOINTS = 1_000_000


@dataclass(frozen=True)
class ReadBack:
    """What is at each place of a step, and the outcome."""

    zone: LiveZone
    outcomes: Mapping[ClaimKey, Outcome]

    @property
    def is_as_wanted(self) -> bool:
        return all(outcome == "new" for outcome in self.outcomes.values())


def read_back(
    session: TransferSession, changes: Mapping[ClaimKey, Change], names: Set[str], *, since: datetime
) -> ReadBack:
    """Read until all changes show, or until the provider's time for that, counted from `since`, is over.

    Reads at least once. Raises ProviderError or WireError if the last of the readings failed.
    """
    return read_until(
        lambda: judge(session.read(names), changes),
        lambda found: found.is_as_wanted,
        allowed=timedelta(seconds=session.provider.read_back_seconds),
        since=since,
    )


def judge(zone: LiveZone, changes: Mapping[ClaimKey, Change]) -> ReadBack:
    """The outcome of each change in one reading. Pure."""
    return ReadBack(zone, {key: _judge_change(zone, key, change) for key, change in changes.items()})


def _judge_change(zone: LiveZone, key: ClaimKey, change: Change) -> Outcome:
    if key in zone.unreliable:
        return "neither"
    live = zone.find(key)
    if is_as_written(live, change.new):
        return "new"
    return "old" if is_as_written(live, change.old) else "neither"


def judge_items(
    items: Iterable[ItemRow], plans: Mapping[int, ItemPlan], step_target: StepTarget, found: ReadBack
) -> dict[int, ItemOutcome]:
    """The status of each item after a step of `step_target` was read back, with the reason. `plans` are
    those of the items.

    Items without anything in this step are left out.
    """
    outcomes: dict[int, ItemOutcome] = {}
    for item in items:
        plan = plans[item.pk]
        keys = plan.keys(step_target)
        if not keys:
            continue
        if item.record_before is not None and key_of(item) not in found.zone.endpoints:
            # If the record set is gone too, missing claims prove nothing.
            outcomes[item.pk] = _ITEM.NEEDS_OPERATOR, _describe_gone(keys, found)
            continue
        outcomes[item.pk] = _judge_item(plan, step_target, found)
    return outcomes


def _judge_item(plan: ItemPlan, step_target: StepTarget, found: ReadBack) -> ItemOutcome:
    keys, step_targets = plan.keys(step_target), plan.step_targets
    # What the step did not change was as wanted already.
    seen: set[Outcome] = {found.outcomes[key] for key in keys if key in found.outcomes}
    if seen <= {"new"}:
        return (_ITEM.VERIFIED if step_target == step_targets[-1] else _ITEM.SENDING), ""
    if seen != {"old"}:
        return _ITEM.NEEDS_OPERATOR, _describe(keys, found)
    if step_target == step_targets[0]:
        return _ITEM.FAILED, _AS_BEFORE
    if step_target.phase != _REMOVE:
        return _ITEM.NEEDS_OPERATOR, _HALF_WRITTEN
    return _ITEM.NEEDS_OPERATOR, _BOTH_EXIST if plan.written else _HALF_REMOVED


def _describe(keys: Iterable[ClaimKey], found: ReadBack) -> str:
    live = "; ".join(_describe_claims(found.zone, key) for key in keys if found.outcomes.get(key) != "new")
    return f"It is in neither the old nor the new state: {live}."


def _describe_gone(keys: Iterable[ClaimKey], found: ReadBack) -> str:
    live = "; ".join(_describe_claims(found.zone, key) for key in keys)
    return f"The record set itself is gone: most likely a sync of its new owner deleted it. Now {live}."


def _describe_claims(zone: LiveZone, key: ClaimKey) -> str:
    place = describe_place(key, zone.stores)
    if key in zone.unreliable:
        return f"{place} is not reliable ({zone.unreliable[key].removesuffix('.')})"
    live = zone.find(key)
    if live is None:
        return f"{place} is gone"
    return f"{place} holds {', '.join(live.targets)[:400]}"


def store_transfer_step(
    session: TransferSession, step_target: StepTarget, body: bytes, items: Sequence[ItemRow]
) -> TransferStep:
    """Store what is about to be sent for a step of a batch, and mark its items.

    Raises LeaseLost, NoLongerAllowed.
    """

    def build() -> TransferStep:
        _raise_if_right_ended(session.transfer, items)
        store_outcomes({item.pk: (_ITEM.SENDING, "") for item in items})
        place: dict[str, Any] = {
            "phase": step_target.phase,
            "batch": items[0].batch,
            "registry_profile_id": None if step_target.store == ZONE else int(step_target.store),
        }
        earlier = session.transfer.steps.filter(**place).aggregate(last=Max("attempt"))["last"]
        return TransferStep(transfer=session.transfer, attempt=(earlier or 0) + 1, **place)

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
    return zone_changes_in(decode_change_set_strict(body, max_items=_MOST_ENDPOINTS))


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


def _raise_if_right_ended(transfer: Transfer, items: Sequence[ItemRow]) -> None:
    """Raise NoLongerAllowed where an item would begin and its requester or approver lost the right to it.

    What was begun is finished: a new claim without the removal of the old one names two owners.
    """
    sides = [(item.owner_before, item.name) for item in items if item.status == _ITEM.PENDING]
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
        endpoint = format_endpoint(live, "") if live is not None else None
        rows.append({**key._asdict(), "outcome": outcome, "endpoint": endpoint})
    return rows


def settle_unfinished(session: TransferSession) -> None:
    """Read what became of every step that was sent, or may have been; call off those that were not.

    Raises ProviderError, WireError, LeaseLost.
    """
    resume_steps(
        session,
        session.transfer.steps.all(),
        lambda step: _settle_by_reading(session, step),
        note_called_off=lambda step: _reset_items(session, step),
    )


def _reset_items(session: TransferSession, step: TransferStep) -> None:
    """Set the items of a step that was never sent to pending, so that they get a new one.

    Those of which an earlier step was verified stay in sending.
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
    items = list(iterate_items(transfer.items.filter(batch=step.batch, status=_ITEM.SENDING)))
    plans = {item.pk: plan_of(item, transfer.kind) for item in items}
    names = names_of(items, plans) | {key.name for key in changes}
    found = read_back(session, changes, names, since=step.answered_at or step.stored_at)
    judged = judge_items(items, plans, StepTarget(step.phase, step.store), found)
    if transfer.watch_until is not None:  # it had ended as failed before
        late = (_ITEM.VERIFIED, ARRIVED_LATE)
        judged = {pk: late if each[0] == _ITEM.VERIFIED else each for pk, each in judged.items()}
    settle_transfer_step(session, step, found, judged)
