"""Which items of a batch can take part in a step, and what becomes of the others. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from providers.registries.errors import RegistryError
from registry_app.models import TransferItem
from registry_app.transfer.plan.claim_key import ClaimKey, describe_place
from registry_app.transfer.send.change_sets import ChangeBuilder
from registry_app.transfer.send.item_plan import ItemPlan
from registry_app.transfer.send.review import find_record_difference, key_of
from registry_app.transfer.send.session import ItemOutcome
from registry_app.transfer.send.standing import Moved

_ITEM = TransferItem.Status


class StepItem(NamedTuple):
    """An item with something to do in the step."""

    item: TransferItem
    plan: ItemPlan


def build_step(
    items: Sequence[StepItem], builder: ChangeBuilder, needed: Mapping[ClaimKey, str]
) -> dict[int, ItemOutcome]:
    """Fill `builder` with the changes of the items that are fit; the outcomes of the others.

    One moved record set never holds up the rest (I17); but a claim that also covers what is left out
    stays (`needed` are such claims of items that were left out before).
    """
    outcomes: dict[int, ItemOutcome] = {}
    needed = dict(needed)
    count = -1
    while count != (count := len(outcomes)):
        builder.changes.clear()
        for each in items:
            if each.item.pk in outcomes:
                continue
            problem = _add(each, builder, needed)
            if problem:
                outcomes[each.item.pk] = _judge_unfit(each, builder, problem)
                needed |= dict.fromkeys(each.plan.before, f"{each.item.name} {each.item.record_type}")
    return outcomes


def _add(each: StepItem, builder: ChangeBuilder, needed: Mapping[ClaimKey, str]) -> str:
    """Add the item's changes; why not, if they cannot be."""
    item, plan = each
    try:
        if item.status == _ITEM.PENDING:
            _raise_if_record_moved(each, builder)
        # What is not begun is not begun in vain: its later steps count, too.
        for key in plan.changed if item.status == _ITEM.PENDING else plan.keys(builder.step_target):
            if key in needed:
                place = describe_place(key, builder.zone.stores)
                raise Moved(f"Its claim in {place} also covers {needed[key]}, which is left out.")
        builder.add(plan, is_under_way=item.status == _ITEM.SENDING)
    except (Moved, RegistryError) as problem:
        return str(problem)
    return ""


def _judge_unfit(each: StepItem, builder: ChangeBuilder, problem: str) -> ItemOutcome:
    was_sent = any(key in builder.earlier.sent for key in each.plan.changed)
    was_sent = was_sent or each.item.status == _ITEM.SENDING
    return (_ITEM.NEEDS_OPERATOR if was_sent else _ITEM.STALE), problem


def _raise_if_record_moved(each: StepItem, builder: ChangeBuilder) -> None:
    if any(key in builder.earlier.sent for key in each.plan.written):
        return  # sent once already: its claims are what counts now
    record = builder.zone.endpoints.get(key_of(each.item))
    difference = find_record_difference(each.item, record)
    if difference:
        raise Moved(difference)
    # Claims of the zone that decide nothing: one that speaks for what came since, does. (A row of a store may
    # have been meant for another record set of this name.)
    if (
        each.item.record_before is None
        and record is not None
        and not any(key.store for key in each.plan.changed)
    ):
        raise Moved(f"{each.item.name} {each.item.record_type} exists now, and its claim decides.")
