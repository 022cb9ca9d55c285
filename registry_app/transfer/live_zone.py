"""What a provider shows now at the names a transfer is about, exactly as it said it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.transfer.subjects import TxtKey


@dataclass(frozen=True)
class LiveZone:
    """Endpoints by identity. One that a provider lists twice is in `ambiguous`, and never written to:
    there is no telling which of the two is `old`."""

    endpoints: dict[EndpointKey, Endpoint] = field(default_factory=dict)
    ambiguous: frozenset[EndpointKey] = frozenset()

    def txt(self, key: TxtKey) -> Endpoint | None:
        """The TXT endpoint at `key`; None if there is none."""
        return self.endpoints.get(txt_endpoint_key(key))

    def is_ambiguous(self, key: TxtKey) -> bool:
        return txt_endpoint_key(key) in self.ambiguous


def txt_endpoint_key(key: TxtKey) -> EndpointKey:
    return EndpointKey(key.name, "TXT", key.set_identifier)


def build_live_zone(endpoints: Iterable[Endpoint], names: Collection[str]) -> LiveZone:
    """The endpoints at `names` (canonical). Others are not kept: a zone may hold a million."""
    found: dict[EndpointKey, Endpoint] = {}
    ambiguous: set[EndpointKey] = set()
    for endpoint in endpoints:
        try:
            key = endpoint_key(endpoint)
        except InvalidName:
            continue  # nothing that is transferred has a name that cannot be read
        if key.name not in names:
            continue
        if key in found:
            ambiguous.add(key)
        found[key] = endpoint
    return LiveZone(found, frozenset(ambiguous))
