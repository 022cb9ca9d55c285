"""Guard endpoints whose instances keep their claims in the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from providers.backends.memory import MemoryBackend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.models import DatabaseClaim, GuardEndpoint, Provider, RegistryProfile
from tests.reference_server import ReferenceProvider
from tests.registry_app.guard.serving import Guarded, guarded

LIMITS: dict[str, Any] = {
    "mode": GuardEndpoint.Mode.ENFORCE,
    "delete_percent": 100,
    "most_deletes": 100_000,
}


def make_database_profile(
    provider: Provider, name: str = "in the database", **values: Any
) -> RegistryProfile:
    """A registry profile whose claims are rows of the database."""
    profile = RegistryProfile.objects.create(name=name, kind="database", **values)
    profile.providers.set([provider])
    return profile


def keep_in_database(endpoint: GuardEndpoint, **values: Any) -> RegistryProfile:
    """The instance of a guard endpoint keeps its claims in the database from now on."""
    profile = make_database_profile(endpoint.provider, f"of {endpoint.slug}", **values)
    endpoint.instance.registry_profile = profile
    endpoint.instance.save()
    return profile


class ForgettingBackend(MemoryBackend):
    """Keeps no labels, as most DNS services: nothing but claims says whose a record set is."""

    def apply(self, change_set: ChangeSet) -> None:
        lists = (change_set.create, change_set.update_old, change_set.update_new, change_set.delete)
        super().apply(ChangeSet(*(tuple(map(_without_labels, each)) for each in lists)))


class ForgettingProvider(ReferenceProvider):
    """A reference provider that keeps no labels."""

    backend_type = ForgettingBackend


def _without_labels(endpoint: Endpoint) -> Endpoint:
    return msgspec.structs.replace(endpoint, labels={})


@contextmanager
def kept(folder: Path, zone: list[Endpoint], **values: Any) -> Iterator[Guarded]:
    """A guard endpoint whose instance keeps its claims in the database."""
    settings = {"reference_type": ForgettingProvider, "first_changes_at": fetch_now(), **LIMITS}
    with guarded(folder, zone, value_exact=False, **settings) as guard:
        keep_in_database(guard.endpoint, **values)
        yield guard


def list_rows() -> dict[tuple[str, str], tuple[str, bool]]:
    """The rows: whose, and whether each is a claim already."""
    rows = DatabaseClaim.objects.values_list("name", "record_type", "owner_id", "meant_targets")
    return {(name, kind): (owner, meant is None) for name, kind, owner, meant in rows}
