"""The registry stores of a provider, opened for one sync or one run of a transfer."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from providers.http.errors import ProviderError
from providers.registries.store_contents import StoreContents, StoreReading, compute_claims_digest
from providers.stores.aws_sd_store import AwsSdStore, RecordsClient
from providers.stores.configmap.store import ConfigMapStore
from providers.stores.crd_store import CrdStore
from providers.stores.dynamodb.api import DynamoDbApi
from providers.stores.dynamodb.key import AwsKey, build_dynamodb_url
from providers.stores.dynamodb.store import DynamoDbStore
from providers.stores.kubernetes.client import KubernetesClient
from providers.stores.store import DigestingStore, RegistryStore
from registry_app.mirror.client import build_address_policy, build_kubernetes_client, build_limits
from registry_app.mirror.registries import STORE_KINDS
from registry_app.mirror.secret_reference import fetch_secret_value
from registry_app.models import Provider, RegistryProfile

_KIND = RegistryProfile.Kind


class RegistryUnreadable(ProviderError):
    """A registry store did not show its claims, so nothing of its provider is believed now (I13)."""

    code = "registry_unreadable"


@dataclass(frozen=True)
class OpenStore:
    """One store, and what it is called. `reference` is the primary key, as text, of its registry profile."""

    reference: str
    kind: str
    name: str
    store: RegistryStore


def open_stores(
    provider: Provider, client: RecordsClient, *, remembers: bool = False
) -> Mapping[str, OpenStore]:
    """The stores of this provider by their profiles' primary keys, as text. Nothing is sent.

    `remembers`: for one thread that reads them again and again, as transfers and loops do. Raises
    SecretUnavailable, and ProviderError where an address cannot be used.
    """
    profiles = RegistryProfile.objects.filter(providers=provider, kind__in=STORE_KINDS).order_by("pk")
    return {
        str(profile.pk): open_store(profile, provider, client, remembers=remembers) for profile in profiles
    }


def open_store(
    profile: RegistryProfile, provider: Provider, client: RecordsClient, *, remembers: bool = False
) -> OpenStore:
    """The store of one profile of this provider. As `open_stores`."""
    name = f"the registry profile {profile.name}"
    store = _open(profile, provider, client, remembers=remembers)
    return OpenStore(str(profile.pk), profile.kind, name, store)


@dataclass(frozen=True)
class StoreAnswer:
    """What one store said. Its claims are only read where somebody asks for the contents."""

    opened: OpenStore
    reading: StoreReading

    @property
    def digest(self) -> bytes:
        return self.reading.digest

    def read(self) -> StoreContents:
        """Raises RegistryUnreadable, which says of which registry profile."""
        with _telling_of(self.opened):
            claims = tuple(self.reading.claims)
        return StoreContents(self.opened.reference, self.opened.kind, claims, self.reading.digest)


def fetch_answers(stores: Iterable[OpenStore]) -> tuple[StoreAnswer, ...]:
    """What the stores beside a provider's own answer say now, in a fixed order.

    Raises RegistryUnreadable, which says of which registry profile.
    """
    return tuple(
        StoreAnswer(opened, _fetch_reading(opened))
        for opened in sorted(stores, key=lambda each: int(each.reference))
        if opened.kind != _KIND.AWS_SD  # its claims are in the answer
    )


def fetch_contents(stores: Iterable[OpenStore]) -> tuple[StoreContents, ...]:
    """What the stores beside a provider's own answer hold now. As `fetch_answers`."""
    return tuple(answer.read() for answer in fetch_answers(stores))


def _fetch_reading(opened: OpenStore) -> StoreReading:
    with _telling_of(opened):
        if isinstance(opened.store, DigestingStore):
            return opened.store.fetch_reading()
        claims = opened.store.fetch_claims()
        return StoreReading(compute_claims_digest(claims), lambda: claims)


@contextmanager
def _telling_of(opened: OpenStore) -> Iterator[None]:
    try:
        yield
    except ProviderError as error:
        raise RegistryUnreadable(
            f"The claims in {opened.name} cannot be read: {error}",
            hint=error.hint,
            retry_after=error.retry_after,
        ) from error


def _open(
    profile: RegistryProfile, provider: Provider, client: RecordsClient, *, remembers: bool
) -> RegistryStore:
    if profile.kind == _KIND.AWS_SD:
        return AwsSdStore(client, max_items=provider.max_items, capitalized_keys=provider.capitalized_changes)
    if profile.kind == _KIND.DYNAMODB:
        return _open_table(profile, provider)
    if profile.kind == _KIND.CRD:
        return CrdStore(_open_kubernetes(profile, provider), profile.namespace)
    return open_configmap_store(profile, provider, remembers=remembers)


def open_configmap_store(
    profile: RegistryProfile, provider: Provider, *, remembers: bool = False
) -> ConfigMapStore:
    """The store of a profile of that kind. As `open_stores`."""
    client = _open_kubernetes(profile, provider)
    return ConfigMapStore(client, profile.namespace, provider.max_items, remembers=remembers)


def _open_kubernetes(profile: RegistryProfile, provider: Provider) -> KubernetesClient:
    if profile.cluster is None:
        raise ValueError(f"a registry of kind {profile.kind} without a cluster")
    return build_kubernetes_client(profile.cluster, build_limits(provider))


def _open_table(profile: RegistryProfile, provider: Provider) -> RegistryStore:
    api = DynamoDbApi(
        profile.endpoint_url or build_dynamodb_url(profile.region),
        profile.region,
        AwsKey(
            profile.access_key_id,
            fetch_secret_value(profile.secret_access_key),
            fetch_secret_value(profile.session_token),
        ),
        build_address_policy(),
        build_limits(provider),
    )
    return DynamoDbStore(api, profile.table, max_items=provider.max_items)
