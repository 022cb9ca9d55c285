"""What is decided about: a name with its set identifier, all its types and their claims. Values only."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from providers.registries.claim import Claim
from providers.wire.endpoint import EndpointKey
from registry_app.guard.asked import AskedChange
from registry_app.models import GuardRule

UnitKey = tuple[str, str]


class FindHidden(Protocol):
    """See `Caller`."""

    def __call__(self, names: Collection[str], *, whatever: bool) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Caller:
    """The instance that asks, and what it may do.

    `is_managed`: whether the provider manages a name; `name_patterns` are the suffixes of the owner, none:
    any. `may_share(name, owner)`: whether both owners share a name by their settings. `find_hidden(names,
    whatever=...)`: for each of some names one below that is another owner's, or with `whatever` not the
    caller's, if there is one.
    `find_stop(name)`: why a name is frozen or pinned; empty: it is not.
    """

    owner_id: str
    is_managed: Callable[[str], bool]
    is_in_patterns: Callable[[str], bool]
    may_share: Callable[[str, str], bool]
    find_hidden: FindHidden
    find_stop: Callable[[str], str]
    allowed_properties: Collection[str] = frozenset()


@dataclass(frozen=True)
class Refusal:
    """Why a unit is not sent. `reason` is one sentence."""

    rule: GuardRule
    reason: str


@dataclass
class Unit:
    """A name with its set identifier, and all that is asked of it. `claims` are those it asks to write, each
    with its TXT record set; `unread`: one of them cannot be read."""

    key: UnitKey
    changes: list[AskedChange] = field(default_factory=list)
    claims: list[tuple[EndpointKey, Claim]] = field(default_factory=list)
    unread: bool = False

    @property
    def name(self) -> str:
        return self.key[0]

    @property
    def is_delete(self) -> bool:
        """Whether it takes something away and puts nothing in its place."""
        return any(each.new is None for each in self.changes) and not any(
            each.old is None for each in self.changes
        )

    def describe(self) -> str:
        """What is asked, in words."""
        asked = [each.describe() for each in self.changes] or ["change its claims"]
        return "; ".join(asked)[:500]


@dataclass(frozen=True)
class Judged:
    """The units of a change set, and why some are refused."""

    units: Mapping[UnitKey, Unit]
    refusals: Mapping[UnitKey, Refusal]

    @property
    def passing(self) -> set[UnitKey]:
        return self.units.keys() - self.refusals.keys()
