"""A plan for one provider as a value: its items, its batches, and the fingerprint a review is bound to.

Any edit of a plan gives it another fingerprint (I8).
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from providers.wire.endpoint import EndpointKey
from registry_app.models import Owner, Provider, Transfer
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, EndpointDict, claim_key_of
from registry_app.transfer.plan.item_row import ItemRow, iterate_items

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Refusal:
    """Why a plan cannot be requested (with `is_warning`: not be sent now). Three sentences, one code."""

    code: str
    happened: str
    now: str = "Nothing was changed."
    todo: str = ""
    is_warning: bool = False

    def __str__(self) -> str:
        return " ".join(part for part in (self.happened, self.now, self.todo) if part)


@dataclass(frozen=True)
class PlannedItem:
    """One record set (of a clean-up: one TXT record) and its ownership TXT endpoints, before and after.

    An item with a `problem` is not part of the plan: the sentence is the reason why it is left out.
    `problem_code` is stable for programs. `is_added`: it was not selected, it is another type at a name that
    was. `left_behind` are the other types at its name that stay with the owner it leaves.
    """

    name: str
    record_type: str
    set_identifier: str
    record_before: dict[str, Any] | None
    before: list[EndpointDict]
    after: list[EndpointDict]
    verdict: str
    verdict_reason: str
    problem: str = ""
    problem_code: str = ""
    source_owner_id: str = ""
    settles_conflict: bool = False
    batch: int = 0
    is_added: bool = False
    left_behind: tuple[EndpointKey, ...] = ()

    @property
    def key(self) -> EndpointKey:
        """The record set it is about."""
        return EndpointKey(self.name, self.record_type, self.set_identifier)


@dataclass(frozen=True)
class ProviderPlan:
    """The plan of a request at one provider. `items` has also those left out, with their problem.
    `approval_policy`: who must approve it."""

    provider: Provider
    items: tuple[PlannedItem, ...]
    fingerprint: str
    refusals: tuple[Refusal, ...]
    approval_policy: str
    confirmation_text: str = ""
    source_owner: Owner | None = None
    target_owner: Owner | None = None
    preconditions: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[Refusal, ...] = field(default=())

    @property
    def verdict_counts(self) -> dict[str, int]:
        """How many of the items that would be written have each verdict."""
        return dict(Counter(item.verdict for item in self.included))

    @property
    def included(self) -> tuple[PlannedItem, ...]:
        """The items that would be written."""
        return tuple(item for item in self.items if not item.problem)

    @property
    def left_out(self) -> tuple[PlannedItem, ...]:
        """The items that would not, each with its problem."""
        return tuple(item for item in self.items if item.problem)

    @property
    def left_behind(self) -> frozenset[EndpointKey]:
        """The record sets that stay behind with their owner at names of which other types go."""
        return frozenset(key for item in self.included for key in item.left_behind)


def assign_batches(items: Sequence[PlannedItem], size: int) -> tuple[PlannedItem, ...]:
    """Number the batches of at most `size` items. Items that share a TXT record go together, even beyond it.

    Items left out have no batch and come last, so that ordinals of the others have no gaps.
    """
    included = [item for item in items if not item.problem]
    numbers = _pack(_group_by_txt(included), size)
    batched = [replace(item, batch=number) for item, number in zip(included, numbers, strict=True)]
    batched.sort(key=lambda item: item.batch)
    return (*batched, *(item for item in items if item.problem))


def changes_of(item: PlannedItem) -> dict[ClaimKey, EndpointDict | None]:
    """What becomes of the claims at each place that the item changes; None: they are removed."""
    before = {claim_key_of(endpoint): endpoint for endpoint in item.before}
    after = {claim_key_of(endpoint): endpoint for endpoint in item.after}
    changes: dict[ClaimKey, EndpointDict | None] = {
        key: endpoint for key, endpoint in after.items() if before.get(key) != endpoint
    }
    changes.update({key: None for key in before if key not in after})
    return changes


def find_stores_of_items(items: Iterable[PlannedItem]) -> set[str]:
    """The registry stores that hold, or are to hold, claims of the items that are not left out."""
    included = [item for item in items if not item.problem]
    keys = (claim_key_of(endpoint) for item in included for endpoint in (*item.before, *item.after))
    return {key.store for key in keys if key.store != ZONE}


def _group_by_txt(items: Sequence[PlannedItem]) -> list[list[int]]:
    """Positions of the items, those connected by TXT records together, in the order of their first."""
    parent = list(range(len(items)))

    def find(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    first_at: dict[ClaimKey, int] = {}
    for position, item in enumerate(items):
        for endpoint in (*item.before, *item.after):
            other = first_at.setdefault(claim_key_of(endpoint), position)
            low, high = sorted((find(other), find(position)))
            parent[high] = low
    groups: dict[int, list[int]] = defaultdict(list)
    for position in range(len(items)):
        groups[find(position)].append(position)
    return list(groups.values())


def _pack(groups: Sequence[Sequence[int]], size: int) -> list[int]:
    numbers: dict[int, int] = {}
    batch, filled = 0, 0
    for group in groups:
        if filled and filled + len(group) > size:
            batch, filled = batch + 1, 0
        numbers.update(dict.fromkeys(group, batch))
        filled += len(group)
    return [numbers[position] for position in sorted(numbers)]


@dataclass(frozen=True)
class PlanHead:
    """What is reviewed of a plan as a whole."""

    kind: str
    provider_id: int
    source_owner_id: str
    target_owner_id: str
    target_intent: str
    preconditions: Mapping[str, Any]


def compute_fingerprint(head: PlanHead, items: Iterable[PlannedItem | ItemRow]) -> str:
    """SHA-256 over the canonical JSON of the head and every item, in their order."""
    digest = hashlib.sha256()
    digest.update(_canonical_json([head.kind, head.provider_id, head.source_owner_id]))
    digest.update(_canonical_json([head.target_owner_id, head.target_intent, head.preconditions]))
    for item in items:
        values = [
            [item.name, item.record_type, item.set_identifier],
            item.record_before,
            item.before,
            item.after,
            item.verdict,
            item.batch,
        ]
        digest.update(_canonical_json(values))
    return digest.hexdigest()


def _canonical_json(value: object) -> bytes:
    return _CANONICAL.encode(value).encode() + b"\n"


def compute_stored_fingerprint(transfer: Transfer) -> str:
    """What was reviewed has this fingerprint, unless a row was edited since (I8)."""
    head = PlanHead(
        kind=transfer.kind,
        provider_id=transfer.provider_id,
        source_owner_id=transfer.source_owner.owner_id if transfer.source_owner else "",
        target_owner_id=transfer.target_owner.owner_id if transfer.target_owner else "",
        target_intent=transfer.target_intent,
        preconditions=transfer.preconditions,
    )
    return compute_fingerprint(head, iterate_items(transfer.items.all()))
