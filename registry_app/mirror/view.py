"""A part of a response: what stands at some names."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint


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
