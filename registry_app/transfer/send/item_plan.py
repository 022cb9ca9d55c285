"""What becomes of the claims of one item, and in which order it is done. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from providers.wire.endpoint import EndpointKey
from registry_app.models import Transfer, TransferItem, TransferStep
from registry_app.transfer.plan.claim_key import ClaimKey, EndpointDict, claim_key_of
from registry_app.transfer.plan.item_row import ItemRow

_KIND = Transfer.Kind
ItemOutcome = tuple[str, str]  # TransferItem.Status value, reason
_PHASE = TransferStep.Phase


class StepTarget(NamedTuple):
    """What is sent to one place at a time: the claims written, or those removed, in one store."""

    phase: str
    store: str


@dataclass(frozen=True)
class ItemPlan:
    """The reviewed claims of one item, by their place.

    `is_exact`: the endpoints are complete, TTL and properties included, and are written as they are (an
    undo); otherwise those come from what was read.
    """

    before: dict[ClaimKey, EndpointDict]
    after: dict[ClaimKey, EndpointDict]
    is_exact: bool

    @cached_property
    def written(self) -> tuple[ClaimKey, ...]:
        """Where claims are created or rewritten, in the first steps."""
        return tuple(key for key, wanted in self.after.items() if _adds(self.before.get(key), wanted))

    @cached_property
    def removed(self) -> tuple[ClaimKey, ...]:
        """Where claims are only removed, in the last steps: the other targets there stay."""
        return tuple(
            key
            for key, was in self.before.items()
            if key not in self.after or (self.after[key] != was and not _adds(was, self.after[key]))
        )

    @cached_property
    def step_targets(self) -> tuple[StepTarget, ...]:
        """All writing before any removing: no record set is ever without a claim (I10)."""
        step_targets = {StepTarget(_PHASE.WRITE, key.store) for key in self.written}
        return sort_targets(step_targets | {StepTarget(_PHASE.REMOVE, key.store) for key in self.removed})

    def keys(self, step_target: StepTarget) -> tuple[ClaimKey, ...]:
        """The places that change in one step."""
        changed = self.written if step_target.phase == _PHASE.WRITE else self.removed
        return tuple(key for key in changed if key.store == step_target.store)

    @cached_property
    def changed(self) -> tuple[ClaimKey, ...]:
        return (*self.written, *self.removed)


def build_item_plan(before: list[EndpointDict], after: list[EndpointDict], *, is_exact: bool) -> ItemPlan:
    return ItemPlan(
        {claim_key_of(endpoint): endpoint for endpoint in before},
        {claim_key_of(endpoint): endpoint for endpoint in after},
        is_exact,
    )


def sort_targets(step_targets: Iterable[StepTarget]) -> tuple[StepTarget, ...]:
    """The order in which steps are run: the zone before the stores, and all writing first."""
    return tuple(
        sorted(
            set(step_targets), key=lambda step_target: (step_target.phase == _PHASE.REMOVE, step_target.store)
        )
    )


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


def names_of(items: Sequence[ItemRow]) -> set[str]:
    """All names whose endpoints these items are about."""
    names = {item.name for item in items}
    for item in items:
        names.update(claim_key_of(endpoint).name for endpoint in (*item.before, *item.after))
    return names
