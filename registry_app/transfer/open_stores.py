"""The registry stores that a transfer touches, opened for one run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from providers.stores.aws_sd_store import AwsSdStore, RecordsClient
from providers.stores.store import RegistryStore
from registry_app.models import Provider, RegistryProfile


@dataclass(frozen=True)
class OpenStore:
    """One store, and what it is called."""

    name: str
    store: RegistryStore


def open_stores(
    references: Iterable[str], provider: Provider, client: RecordsClient
) -> Mapping[str, OpenStore]:
    """The stores of these registry profiles (primary keys as text). Nothing is sent."""
    profiles = RegistryProfile.objects.filter(pk__in=[int(each) for each in references]).order_by("pk")
    return {
        str(profile.pk): OpenStore(f"the registry profile {profile.name}", _open(profile, provider, client))
        for profile in profiles
    }


def _open(profile: RegistryProfile, provider: Provider, client: RecordsClient) -> RegistryStore:
    if profile.kind != RegistryProfile.Kind.AWS_SD:
        raise ValueError(f"a registry of kind {profile.kind} has no store")
    return AwsSdStore(client, max_items=provider.max_items, capitalized_keys=provider.capitalized_changes)
