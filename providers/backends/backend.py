"""What a DNS service must offer to stand behind one of our servers."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from providers.backends.errors import ChangeImpossible
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint


class Capabilities(msgspec.Struct, frozen=True):
    """What a backend promises. A server, and the documentation, read it; nothing is guessed from a name."""

    atomic: bool  # a change set is applied as a whole or not at all; else, all of it that can be
    value_exact: bool  # `updateOld` and `delete` must mean what is held (`old_value.py`)
    ordered: bool  # records come in the same order at every read
    immediate: bool  # an applied change is readable at once
    set_identifiers: bool  # several record sets of one name and type, told apart by set identifier
    provider_specific: bool  # provider-specific properties are kept


class Backend(Protocol):
    """A real DNS service. Every method may be called from several threads at once."""

    def records(self) -> Sequence[Endpoint]:
        """All endpoints held now. Raises BackendError; never answers an empty list instead."""
        ...

    def apply(self, change_set: ChangeSet) -> None:
        """Do what the change set asks. Raises BackendError; `capabilities` says what was applied then."""
        ...

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """The wanted endpoints in the form in which this backend would give them back. Changes nothing."""
        ...

    def find_problems(self, endpoints: Sequence[Endpoint]) -> Sequence[ChangeImpossible | None]:
        """For each wanted endpoint, why this backend can never hold it, or None. Changes nothing. Raises
        BackendError where that cannot be told now."""
        ...

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        """Whether two values of a provider-specific property mean the same here. Changes nothing."""
        ...

    def domain_filter(self) -> DomainFilter:
        """The names this backend answers for."""
        ...

    def capabilities(self) -> Capabilities:
        """What this backend promises."""
        ...
