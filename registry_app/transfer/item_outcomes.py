"""From what stands at each TXT name to what became of each item, in plain words. Pure."""

from collections.abc import Iterable, Mapping

from registry_app.models import TransferItem, TransferStep
from registry_app.transfer.change_sets import ItemPlan
from registry_app.transfer.live_zone import LiveZone
from registry_app.transfer.look import Outcome, ReadBack
from registry_app.transfer.review import key_of, plan_of
from registry_app.transfer.steps import ItemOutcome
from registry_app.transfer.subjects import TxtKey

_ITEM = TransferItem.Status
_AS_BEFORE = "The provider shows it as it was. It may be asked again."
_BOTH_STAND = (
    "The new claim stands, and the one it replaces was not removed: the two may name different owners. "
    "Send again to remove the old one."
)


def judge_items(
    items: Iterable[TransferItem], kind: str, phase: str, found: ReadBack
) -> dict[int, ItemOutcome]:
    """The status of each item after a step of `phase` was read back, with the reason."""
    outcomes: dict[int, ItemOutcome] = {}
    for item in items:
        plan = plan_of(item, kind)
        if item.record_before is not None and key_of(item) not in found.zone.endpoints:
            # Absent claims prove nothing beside an absent record set.
            keys = plan.written if phase == TransferStep.Phase.WRITE else plan.removed
            outcomes[item.pk] = _ITEM.NEEDS_OPERATOR, _describe_gone(keys, found)
            continue
        if phase == TransferStep.Phase.WRITE:
            outcomes[item.pk] = _judge_written(plan, found)
        else:
            outcomes[item.pk] = _judge_removed(plan, found)
    return outcomes


def judge_outstanding() -> ItemOutcome:
    """An item whose new claim is verified, and whose old one nobody removed."""
    return _ITEM.NEEDS_OPERATOR, _BOTH_STAND


def _judge_written(plan: ItemPlan, found: ReadBack) -> ItemOutcome:
    seen = _seen(plan.written, found.outcomes)
    if seen <= {"new"}:
        return (_ITEM.SENDING if plan.removed else _ITEM.VERIFIED), ""
    if seen == {"old"}:
        return _ITEM.FAILED, _AS_BEFORE
    return _ITEM.NEEDS_OPERATOR, _describe(plan.written, found)


def _judge_removed(plan: ItemPlan, found: ReadBack) -> ItemOutcome:
    seen = _seen(plan.removed, found.outcomes)
    if seen <= {"new"}:
        return _ITEM.VERIFIED, ""
    if seen == {"old"}:
        return (_ITEM.NEEDS_OPERATOR, _BOTH_STAND) if plan.after else (_ITEM.FAILED, _AS_BEFORE)
    return _ITEM.NEEDS_OPERATOR, _describe(plan.removed, found)


def _seen(keys: Iterable[TxtKey], outcomes: Mapping[TxtKey, Outcome]) -> set[Outcome]:
    # What the step did not touch stood as wanted already.
    return {outcomes[key] for key in keys if key in outcomes}


def _describe(keys: Iterable[TxtKey], found: ReadBack) -> str:
    stands = "; ".join(_describe_txt(found.zone, key) for key in keys if found.outcomes.get(key) != "new")
    return f"Neither the old nor the new state: {stands}."


def _describe_gone(keys: Iterable[TxtKey], found: ReadBack) -> str:
    stands = "; ".join(_describe_txt(found.zone, key) for key in keys)
    return f"The record set itself is gone: most likely a sync of its new owner deleted it. Now {stands}."


def _describe_txt(zone: LiveZone, key: TxtKey) -> str:
    if zone.is_ambiguous(key):
        return f"the TXT record {key.name} is listed more than once"
    live = zone.txt(key)
    if live is None:
        return f"the TXT record {key.name} is gone"
    return f"the TXT record {key.name} holds {', '.join(live.targets)[:400]}"
