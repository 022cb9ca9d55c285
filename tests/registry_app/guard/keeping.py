"""Guard endpoints whose instances keep their claims in the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.models import DatabaseClaim, GuardEndpoint, Provider, RegistryProfile
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


@contextmanager
def kept(folder: Path, zone: list[Endpoint], **values: Any) -> Iterator[Guarded]:
    """A guard endpoint whose instance keeps its claims in the database."""
    with guarded(folder, zone, value_exact=False, first_changes_at=fetch_now(), **LIMITS) as guard:
        keep_in_database(guard.endpoint, **values)
        yield guard


def list_rows() -> dict[tuple[str, str], tuple[str, bool]]:
    """The rows: whose, and whether each is a claim already."""
    rows = DatabaseClaim.objects.values_list("name", "record_type", "owner_id", "meant_targets")
    return {(name, kind): (owner, meant is None) for name, kind, owner, meant in rows}
