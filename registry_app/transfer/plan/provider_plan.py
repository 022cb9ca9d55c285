"""A plan for one provider: what would change, what it would lead to, and what speaks against it."""

from dataclasses import dataclass, field
from typing import Any

from providers.wire.endpoint import EndpointKey
from registry_app.models import Owner, Provider

# Wire endpoints as they stand in a row: a JSON object. `encrypt` beside the wire's own fields names,
# by the position of a target, the registry profile with whose key that target is sealed when it is sent.
EndpointDict = dict[str, Any]


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

    An item with a `problem` is not part of the plan: the sentence says why it is left out.
    `problem_code` is stable for programs. `is_added`: nobody picked it, it is another type at a name that was
    picked. `left_behind` are the other types at its name that stay with the owner it leaves.
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


@dataclass(frozen=True)
class ProviderPlan:
    """What a request comes to at one provider. `items` holds also those left out, with their problem."""

    provider: Provider
    items: tuple[PlannedItem, ...]
    fingerprint: str
    refusals: tuple[Refusal, ...]
    confirmation_text: str
    approval_policy: str
    verdict_counts: dict[str, int]
    source_owner: Owner | None = None
    target_owner: Owner | None = None
    preconditions: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[Refusal, ...] = field(default=())

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
