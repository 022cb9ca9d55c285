"""Which names the guard keeps as they are, whatever an instance wants: those that are frozen or pinned."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from registry_app.models import GuardEndpoint, Provider
from registry_app.queries.freeze import Stops, fetch_stops


@dataclass(frozen=True)
class KeptByGuard:
    """What is frozen or pinned for an owner at a provider, and by name those of its `instances` that a guard
    endpoint there holds to it."""

    instances: frozenset[str] = frozenset()
    stops: Stops = field(default_factory=Stops)

    def find(self, instance: str, name: str) -> str:
        """Why the guard keeps a name as it is for an instance, in one sentence; empty if it does not."""
        return self.stops.find(name) if instance in self.instances else ""

    def describe(self, names: Iterable[str]) -> str:
        """A text that is the same as long as the guard keeps the same of these names for the same instances;
        empty if it keeps none."""
        kept = sorted({name for name in names if self.stops.find(name)}) if self.instances else []
        lines = [*sorted(self.instances), "", *kept]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest() if kept else ""


NOTHING_KEPT: Final = KeptByGuard()


def fetch_kept_by_guard(owner_id: str, provider: Provider) -> KeptByGuard:
    """What the guard keeps from the instances of an owner at a provider now. Database read."""
    enforcing = GuardEndpoint.objects.filter(
        provider=provider, instance__owner__owner_id=owner_id, mode=GuardEndpoint.Mode.ENFORCE
    )
    names = frozenset(enforcing.values_list("instance__name", flat=True))
    return KeptByGuard(names, fetch_stops(provider, owner_id)) if names else NOTHING_KEPT
