"""What becomes of the claims of one item, and in which order it is done. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from providers.wire.endpoint import EndpointKey
from registry_app.models import Transfer, TransferItem, TransferStep
from registry_app.transfer.plan.claim_key import ClaimKey, EndpointDict, claim_key_of
from registry_app.transfer.plan.item_row import ItemRow

_KIND = Transfer.Kind
ItemOutcome = tuple[str, str]  # TransferItem.Status value, reason
# As text: a member of an enumeration takes ten times as long to hash.
_WRITE, _REMOVE = TransferStep.Phase.WRITE.value, TransferStep.Phase.REMOVE.value


class StepTarget(NamedTuple):
    """What is sent to one place at a time: the claims written, or those removed, in one store."""

    phase: str
    store: str


class ItemPlan(NamedTuple):
    """The reviewed claims of one item, by their place.

    `is_exact`: the endpoints are complete, TTL and properties included, and are written as they are (an
    undo); otherwise those come from what was read.
    `written` is where claims are created or rewritten, in the first steps. `removed` is where claims are only
    removed, in the last steps: the other targets there stay.
    `step_targets` are in the order of the steps, all writing before any removing: no record set is ever
    without a claim (I10).
    """

    before: dict[ClaimKey, EndpointDict]
    after: dict[ClaimKey, EndpointDict]
    is_exact: bool
    written: tuple[ClaimKey, ...]
    removed: tuple[ClaimKey, ...]
    step_targets: tuple[StepTarget, ...]

    def keys(self, step_target: StepTarget) -> tuple[ClaimKey, ...]:
        """The places that change in one step."""
        changed = self.written if step_target.phase == _WRITE else self.removed
        return tuple([key for key in changed if key.store == step_target.store])

    @property
    def changed(self) -> tuple[ClaimKey, ...]:
        return (*self.written, *self.removed)


def build_item_plan(before: list[EndpointDict], after: list[EndpointDict], *, is_exact: bool) -> ItemPlan:
    was = {claim_key_of(endpoint): endpoint for endpoint in before}
    wanted = {claim_key_of(endpoint): endpoint for endpoint in after}
    written = tuple([key for key, endpoint in wanted.items() if _adds(was.get(key), endpoint)])
    removed = tuple(
        [
            key
            for key, endpoint in was.items()
            if key not in wanted or (key not in written and wanted[key] != endpoint)
        ]
    )
    step_targets = {StepTarget(_WRITE, key.store) for key in written}
    step_targets.update(StepTarget(_REMOVE, key.store) for key in removed)
    return ItemPlan(was, wanted, is_exact, written, removed, sort_targets(step_targets))


def sort_targets(step_targets: Iterable[StepTarget]) -> tuple[StepTarget, ...]:
    """The order in which steps are run: the zone before the stores, and all writing first."""
    return tuple(sorted(set(step_targets), key=_place_in_order))


def _place_in_order(step_target: StepTarget) -> tuple[bool, str]:
    return step_target.phase == _REMOVE, step_target.store


def _adds(was: EndpointDict | None, wanted: EndpointDict) -> bool:
    """Whether a claim is added, or encrypted again: then the rest of the place changes with it."""
    if was is None or wanted.get("encrypt"):
        return was != wanted
    return not set(wanted["targets"]) <= set(was["targets"]) or _frame(was) != _frame(wanted)


def _frame(endpoint: EndpointDict) -> dict[str, object]:
    return {name: value for name, value in endpoint.items() if name not in ("targets", "encrypt")}


def plan_of(item: TransferItem | ItemRow, kind: str) -> ItemPlan:
    """The reviewed claims of a stored item."""
    return build_item_plan(item.before, item.after, is_exact=kind == _KIND.UNDO)


def key_of(item: TransferItem | ItemRow) -> EndpointKey:
    return EndpointKey(item.name, item.record_type, item.set_identifier)


def names_of(items: Iterable[ItemRow], plans: Mapping[int, ItemPlan]) -> set[str]:
    """All names whose endpoints these items are about; `plans` are theirs."""
    names = {item.name for item in items}
    names.update(key.name for plan in plans.values() for side in (plan.before, plan.after) for key in side)
    return names
