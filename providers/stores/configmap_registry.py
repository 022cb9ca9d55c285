"""The ConfigMap registry: rows in each owner's own ConfigMaps, in one namespace of a cluster."""

from providers.stores.configmap.store import ConfigMapStore
from providers.stores.registry import ClaimPlace, RegistryKind, StoreAccess, StoreSettings


def _open(settings: StoreSettings, access: StoreAccess) -> ConfigMapStore:
    return ConfigMapStore(
        access.open_kubernetes(),
        settings.namespace,
        access.limits.max_items,
        remembers=access.remembers,
    )


CONFIGMAP_REGISTRY = RegistryKind(
    name="configmap",
    label="ConfigMap",
    place=ClaimPlace.STORE,
    where="the ConfigMaps of the namespace {namespace} at the cluster {cluster}",
    settings=("cluster", "namespace", "is_rebuilt"),
    questions={"cluster": "Which cluster holds it?", "namespace": "In which namespace is it?"},
    identity=("cluster", "namespace"),
    description={"Kubernetes API": "kubernetes_api", "namespace": "namespace"},
    open=_open,
    has_intents=True,
    can_resync=True,
    can_export=True,
)
