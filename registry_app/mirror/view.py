"""Reading some names of a provider only: only what decides who owns them is paired."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from providers.registries.txt_names import LinkedNames
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
