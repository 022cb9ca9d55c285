"""What a DNS service must offer so that our servers can serve it."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from providers.backends.errors import ChangeImpossible
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint


class Backend(Protocol):
    """A real DNS service. Every method may be called from several threads at once."""

    def records(self) -> Sequence[Endpoint]:
        """All endpoints held now. Raises BackendError; never answers an empty list instead."""
        ...

    def apply(self, change_set: ChangeSet) -> None:
        """Make the changes of a change set. Raises BackendError; `refused` names what was left out then."""
        ...

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """The wanted endpoints in the form in which this backend would give them back. Changes nothing."""
        ...

    def find_problems(self, endpoints: Sequence[Endpoint]) -> Sequence[ChangeImpossible | None]:
        """For each wanted endpoint, why this backend can never hold it, or None. Changes nothing. Raises
        BackendError where that is not known now."""
        ...

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        """Whether two values of a provider-specific property mean the same here. Changes nothing."""
        return previous == current

    def domain_filter(self) -> DomainFilter:
        """The names this backend answers for."""
        ...


class BackendOptions(msgspec.Struct, frozen=True):
    """What a backend is made from when it is served: its own options, the environment (credentials come from
    there or from files, never from arguments), and the options that every backend has."""

    own: argparse.Namespace
    environment: Mapping[str, str]
    domain_filter: DomainFilter | None
    encryption_keys: tuple[bytes, ...]
