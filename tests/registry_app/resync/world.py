"""A provider that shows two record sets, and blue's registry in a ConfigMap, which knows one of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from providers.wire.endpoint import Endpoint
from registry_app.models import Provider, RegistryProfile
from registry_app.resync.resync_registry import resync_registry
from tests.factories import make_cluster, make_owner, make_provider
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.reference_server import ReferenceProvider, make_record

BLUE = "blue-cluster"
WWW, API = make_record("www.example.org"), make_record("api.example.org", targets=("192.0.2.2", "192.0.2.3"))
HERITAGE = f"heritage=external-dns,external-dns/owner={BLUE}"


@dataclass
class Beside:
    """A provider that shows two record sets, and blue's registry, which knows one of them."""

    reference: ReferenceProvider
    api: KubernetesApi
    provider: Provider
    profile: RegistryProfile

    def resync(self, **changes: object) -> None:
        RegistryProfile.objects.filter(pk=self.profile.pk).update(next_resync_at=None, **changes)
        resync_registry(self.profile.pk)

    def rows(self) -> list[dict[str, object]]:
        data = self.api.read_object("configmaps", f"{BLUE}-storage")["data"]
        assert isinstance(data, dict)
        rows: list[dict[str, object]] = json.loads(str(data["records"]))
        return rows

    def put(self, record: Endpoint) -> None:
        store = ConfigMapStore(self.api.calm_client(), NAMESPACE, 100)
        store.write([StoredClaimChange(record, None, HERITAGE)])


@contextmanager
def open_beside() -> Iterator[Beside]:
    """The two of them, and the profile that ties them."""
    with ReferenceProvider([WWW, API]) as reference, KubernetesApi() as api:
        provider = make_provider(url=reference.url)
        cluster = make_cluster(api_url=api.url, token=api.token)
        profile = RegistryProfile.objects.create(
            name="maps", kind="configmap", cluster=cluster, namespace=NAMESPACE
        )
        profile.providers.set([provider])
        make_owner(BLUE, registry_profile=profile)
        beside = Beside(reference, api, provider, profile)
        beside.put(WWW)
        yield beside
