"""Looking at some names of a provider only: what decides whose they are, and nothing else, is paired."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from providers.registries.neighbourhood import Neighbourhood
from providers.wire.endpoint import Endpoint


@dataclass(frozen=True)
class View:
    """The record sets at canonical `names`. What a snapshot says of them is what it says of them in a
    snapshot of the whole; what it holds beside them is not complete."""

    neighbourhood: Neighbourhood
    names: Collection[str]

    def narrow(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """What of an answer stands at these names or may decide whose that is."""
        return self.neighbourhood.select(endpoints, self.names)
