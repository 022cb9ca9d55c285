"""The registry stores of a provider, opened for one sync or one run of a transfer."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from providers.http.errors import ProviderError
from providers.registries.stored_claim import StoreContents, StoreReading, compute_claims_digest
from providers.stores.kubernetes.client import KubernetesClient
from providers.stores.registry import (
    DigestingStore,
    NamedClaimsStore,
    RecordsClient,
    RegistryKind,
    RegistryStore,
    StoreAccess,
    StoreSettings,
)
from providers.stores.registry_catalogue import KINDS_WITH_STORE
from registry_app.database_claims import DatabaseStore
from registry_app.mirror.client import build_address_policy, build_kubernetes_client, build_limits
from registry_app.mirror.secret_reference import fetch_secret_value
from registry_app.models import Provider, RegistryProfile


class RegistryUnreadable(ProviderError):
    """A registry store did not show its claims, so nothing of its provider is used now (I13)."""

    code = "registry_unreadable"


@dataclass(frozen=True)
class OpenStore:
    """One store, and what it is called. `reference` is the primary key, as text, of its registry profile."""

    reference: str
    registry: RegistryKind
    name: str
    store: RegistryStore


def open_stores(
    provider: Provider, client: RecordsClient, *, remembers: bool = False
) -> Mapping[str, OpenStore]:
    """The stores of this provider by their profiles' primary keys, as text. Nothing is sent.

    `remembers`: for one thread that reads them again and again, as transfers and loops do. Raises
    SecretUnavailable, and ProviderError where an address cannot be used.
    """
    profiles = RegistryProfile.objects.filter(providers=provider, kind__in=KINDS_WITH_STORE).order_by("pk")
    return {
        str(profile.pk): open_store(profile, provider, client, remembers=remembers) for profile in profiles
    }


def open_store(
    profile: RegistryProfile, provider: Provider, client: RecordsClient | None, *, remembers: bool = False
) -> OpenStore:
    """The store of one profile of this provider; without a `client` only where it is beside the response.
    As `open_stores`."""
    registry = profile.registry
    if registry.open is None:
        raise ValueError(f"A registry of kind {registry.name} has no store.")
    access = StoreAccess(
        client=client,
        policy=build_address_policy(),
        limits=build_limits(provider),
        open_kubernetes=lambda: _open_kubernetes(profile, provider),
        open_database=lambda: DatabaseStore(profile.pk),
        fetch_secret=lambda name: fetch_secret_value(getattr(profile, name)),
        capitalized_keys=provider.capitalized_changes,
        remembers=remembers,
    )
    store = registry.open(_build_settings(profile), access)
    return OpenStore(str(profile.pk), registry, f"the registry profile {profile.name}", store)


def describe_stores(provider: Provider, references: Collection[str]) -> dict[str, dict[str, Any]]:
    """Address and settings of each store that this provider has, by its profile's primary key as text.

    Without secrets. Every key is a word for what it holds: people read them.
    """
    profiles = RegistryProfile.objects.filter(pk__in=[int(each) for each in references], providers=provider)
    return {
        str(profile.pk): {
            "name": profile.name,
            "kind": profile.kind,
            **profile.registry.describe(_build_settings(profile)),
        }
        for profile in profiles.order_by("pk")
    }


def _build_settings(profile: RegistryProfile) -> StoreSettings:
    """Where the store of a profile is."""
    return StoreSettings(
        kubernetes_api=profile.cluster.api_url if profile.cluster else "",
        namespace=profile.namespace,
        table=profile.table,
        region=profile.region,
        endpoint_url=profile.endpoint_url,
        access_key_id=profile.access_key_id,
    )


@dataclass(frozen=True)
class StoreAnswer:
    """What one store returned. Its claims are only read where somebody asks for the contents."""

    opened: OpenStore
    reading: StoreReading

    @property
    def digest(self) -> bytes:
        return self.reading.digest

    def read(self) -> StoreContents:
        """Raises RegistryUnreadable, which names the registry profile."""
        with _naming(self.opened):
            claims = tuple(self.reading.claims)
        return StoreContents(self.opened.reference, self.opened.registry.name, claims, self.reading.digest)


def fetch_answers(stores: Iterable[OpenStore]) -> tuple[StoreAnswer, ...]:
    """What the stores beside a provider's own response return now, in a fixed order.

    Raises RegistryUnreadable, which names the registry profile.
    """
    return tuple(
        StoreAnswer(opened, _fetch_reading(opened))
        for opened in sorted(stores, key=lambda each: int(each.reference))
        if opened.registry.is_beside_response
    )


def fetch_contents(
    stores: Iterable[OpenStore], names: Collection[str] | None = None
) -> tuple[StoreContents, ...]:
    """What the stores beside a provider's own response contain now. As `fetch_answers`.

    Of a store that can tell, only the claims at canonical `names`; None: all.
    """
    opened = tuple(stores)
    if names is None:
        return tuple(answer.read() for answer in fetch_answers(opened))
    named = tuple(each for each in opened if isinstance(each.store, NamedClaimsStore))
    whole = fetch_contents(each for each in opened if each not in named)
    return (*whole, *(_fetch_contents_at(each, names) for each in named))


def _fetch_contents_at(opened: OpenStore, names: Collection[str]) -> StoreContents:
    with _naming(opened):
        if not isinstance(opened.store, NamedClaimsStore):
            raise TypeError(f"{opened.name} cannot be asked for names.")
        claims = tuple(opened.store.fetch_claims_at(names))
    return StoreContents(opened.reference, opened.registry.name, claims)


def _fetch_reading(opened: OpenStore) -> StoreReading:
    with _naming(opened):
        if isinstance(opened.store, DigestingStore):
            return opened.store.fetch_reading()
        claims = opened.store.fetch_claims()
        return StoreReading(compute_claims_digest(claims), lambda: claims)


@contextmanager
def _naming(opened: OpenStore) -> Iterator[None]:
    try:
        yield
    except ProviderError as error:
        raise RegistryUnreadable(
            f"The claims in {opened.name} cannot be read: {error}",
            hint=error.hint,
            retry_after=error.retry_after,
        ) from error


def _open_kubernetes(profile: RegistryProfile, provider: Provider) -> KubernetesClient:
    if profile.cluster is None:
        raise ValueError(f"a registry of kind {profile.kind} without a cluster")
    return build_kubernetes_client(profile.cluster, build_limits(provider))
