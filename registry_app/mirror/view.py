"""Reading some names of a provider only: only what decides who owns them is paired."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from providers.registries.linked_names import LinkedNames
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint


@dataclass(frozen=True)
class View:
    """The record sets at canonical `names`. A snapshot read with a view says the same
    about them as a whole snapshot; what else it contains is incomplete."""

    linked_names: LinkedNames
    names: Collection[str]

    def narrow(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """The endpoints at these names, and those that may decide who owns them."""
        return self.linked_names.select(endpoints, self.names)


@dataclass(frozen=True)
class AtNames:
    """The endpoints at canonical `names`, and no others."""

    names: Collection[str]

    def narrow(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """The endpoints at these names."""
        return [endpoint for endpoint in endpoints if self._is_at(endpoint)]

    def _is_at(self, endpoint: Endpoint) -> bool:
        try:
            return canonical_name(endpoint.dns_name) in self.names
        except InvalidName:
            return False
