"""What became of a step and of its items, by reading provider and stores. Only this decides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from registry_app.models import TransferItem, TransferStep
from registry_app.transfer.plan.claim_key import ClaimKey, describe_place
from registry_app.transfer.send.item_plan import ItemOutcome, ItemPlan, StepTarget, key_of, plan_of
from registry_app.transfer.send.live_zone import LiveZone
from registry_app.transfer.send.session import TransferSession
from registry_app.writes.read_back import Change, is_as_written, read_until

Outcome = Literal["new", "old", "neither"]
_ITEM = TransferItem.Status
_REMOVE = TransferStep.Phase.REMOVE
ARRIVED_LATE = "Arrived late."
_AS_BEFORE = (
    "It was read back as before. The provider may still apply it: syncs check that for 24 hours. You "
    "can request it again."
)
_BOTH_STAND = (
    "The new claim exists, and the claim that it replaces was not removed: the two may name "
    "different owners. Send again to remove the old one."
)
_HALF_DONE = (
    "It stopped before its end: some changes were written, and later ones, such as the removal of "
    "the old claim, were not sent. Two claims may name different owners. Send again to finish it."
)
_HALF_REMOVED = "Some of its claims are removed, and others are still there. Send again to remove the rest."
_HALF_WRITTEN = (
    "Some of its claims are written, and others were read back as before. Send again to write the rest."
)


@dataclass(frozen=True)
class ReadBack:
    """What is at each place of a step, and the outcome."""

    zone: LiveZone
    outcomes: Mapping[ClaimKey, Outcome]

    @property
    def is_as_wanted(self) -> bool:
        return all(outcome == "new" for outcome in self.outcomes.values())


def read_back(
    session: TransferSession, changes: Mapping[ClaimKey, Change], names: set[str], *, since: datetime
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
    items: Iterable[TransferItem], kind: str, step_target: StepTarget, found: ReadBack
) -> dict[int, ItemOutcome]:
    """The status of each item after a step of `step_target` was read back, with the reason.

    Items without anything in this step are left out.
    """
    outcomes: dict[int, ItemOutcome] = {}
    for item in items:
        plan = plan_of(item, kind)
        keys = plan.keys(step_target)
        if not keys:
            continue
        if item.record_before is not None and key_of(item) not in found.zone.endpoints:
            # Absent claims prove nothing beside an absent record set.
            outcomes[item.pk] = _ITEM.NEEDS_OPERATOR, _describe_gone(keys, found)
            continue
        outcomes[item.pk] = _judge_item(plan, step_target, found)
    return outcomes


def judge_outstanding() -> ItemOutcome:
    """An item that was under way: some of its claims were verified, and the rest was not sent."""
    return _ITEM.NEEDS_OPERATOR, _HALF_DONE


def mark_late(outcome: ItemOutcome) -> ItemOutcome:
    """The same outcome, of an item that was read back as before when its transfer ended."""
    return (_ITEM.VERIFIED, ARRIVED_LATE) if outcome[0] == _ITEM.VERIFIED else outcome


def _judge_item(plan: ItemPlan, step_target: StepTarget, found: ReadBack) -> ItemOutcome:
    keys, step_targets = plan.keys(step_target), plan.step_targets
    # What the step did not touch stood as wanted already.
    seen: set[Outcome] = {found.outcomes[key] for key in keys if key in found.outcomes}
    if seen <= {"new"}:
        return (_ITEM.VERIFIED if step_target == step_targets[-1] else _ITEM.SENDING), ""
    if seen != {"old"}:
        return _ITEM.NEEDS_OPERATOR, _describe(keys, found)
    if step_target == step_targets[0]:
        return _ITEM.FAILED, _AS_BEFORE
    if step_target.phase != _REMOVE:
        return _ITEM.NEEDS_OPERATOR, _HALF_WRITTEN
    return _ITEM.NEEDS_OPERATOR, _BOTH_STAND if plan.written else _HALF_REMOVED


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
