"""Reading some names of a provider only: only what decides who owns them is paired."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from providers.registries.neighbourhood import Neighbourhood
from providers.wire.endpoint import Endpoint


@dataclass(frozen=True)
class View:
    """The record sets at canonical `names`. A snapshot read with a view says the same
    about them as a whole snapshot; what else it contains is incomplete."""

    neighbourhood: Neighbourhood
    names: Collection[str]

    def narrow(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """The endpoints at these names, and those that may decide who owns them."""
        return self.neighbourhood.select(endpoints, self.names)
