"""The ConfigMaps of one namespace: all registries in them as of one moment, and writes to single ones."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from providers.http.errors import MalformedAnswer
from providers.registries.configmap.maps import OUR_KEYS, MapData
from providers.registries.configmap.names import parse_map_name
from providers.registries.configmap.registry import Registry, UnreadableRegistry, read_registries
from providers.registries.configmap.writing import MapWrite
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts
from providers.registries.stored_claim import compute_digest
from providers.stores.kubernetes.client import CONFIG_MAPS, KubernetesClient
from providers.stores.kubernetes.remembered import RememberedObjects

_HINT: Final = (
    "Nothing of this namespace's registries was used. Look at the ConfigMap with kubectl: mend it, restore "
    "the registry from an export, or, if it is no registry, keep it in another namespace."
)


class Namespace(NamedTuple):
    """All ConfigMaps that are named as one of a registry, by name, and the registries in them, by owner."""

    maps: dict[str, MapData]
    registries: dict[str, Registry]


class NamespaceReader:
    """Reads the ConfigMaps of a namespace. One that `remembers` is for one thread: what stands unchanged
    since its last reading is neither fetched nor understood again."""

    def __init__(self, namespace: str, max_items: int, *, remembers: bool) -> None:
        self._namespace = namespace
        self._max_items = max_items
        self._remembered = RememberedObjects(CONFIG_MAPS, namespace) if remembers else None
        self._known: dict[str, MapData] = {}

    def fetch(self, client: KubernetesClient) -> list[KubernetesObject]:
        """The ConfigMaps of our names, not read yet. Raises ProviderError."""
        if self._remembered is not None:
            objects = self._remembered.fetch(client)
        else:
            objects = client.list_objects(CONFIG_MAPS, self._namespace)
        return [obj for obj in objects if parse_map_name(read_metadata(obj, "name"))]

    def read(self, objects: Iterable[KubernetesObject]) -> Namespace:
        """The registries in ConfigMaps that were fetched. Raises MalformedAnswer where one cannot be read as
        a whole: that is never taken for an empty registry."""
        maps = {read_metadata(obj, "name"): self._read_data(obj) for obj in objects}
        if self._remembered is not None:
            self._known = maps
        try:
            return Namespace(maps, read_registries(maps, self._max_items))
        except UnreadableRegistry as error:
            raise MalformedAnswer(f"{error} It is in the namespace {self._namespace}.", hint=_HINT) from error

    def _read_data(self, obj: KubernetesObject) -> MapData:
        known = self._known.get(read_metadata(obj, "name"))
        return known if known is not None and known.obj is obj else MapData(obj, self._max_items)


def write_map(
    client: KubernetesClient, namespace: str, held: KubernetesObject | None, write: MapWrite
) -> KubernetesObject:
    """Write a ConfigMap, all else in it kept; what stands afterwards. Nothing is sent where it does already.

    Raises as KubernetesClient does: Conflict if somebody wrote it since it was `held`.
    """
    if held is None:
        new: KubernetesObject = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": write.name,
                "namespace": namespace,
                "labels": {"app.kubernetes.io/managed-by": "dnsadmin"},
            },
            "data": {**write.data},
        }
        return client.create(CONFIG_MAPS, namespace, new)
    standing = read_texts(held, "data")
    data = {**{key: text for key, text in standing.items() if key not in OUR_KEYS}, **write.data}
    return held if data == standing else client.replace(CONFIG_MAPS, namespace, {**held, "data": {**data}})


def compute_objects_digest(objects: Iterable[KubernetesObject]) -> bytes:
    """The digest of all that claims are read from: the texts of the registries' own keys, by ConfigMap."""
    return compute_digest(sorted(map(_list_texts, objects)))


def _list_texts(obj: KubernetesObject) -> tuple[bytes, list[tuple[str, bytes]]]:
    texts = read_texts(obj, "data")
    # A lone surrogate may have come in as an escape.
    found = [(key, texts[key].encode(errors="surrogatepass")) for key in OUR_KEYS if key in texts]
    return read_metadata(obj, "name").encode(errors="surrogatepass"), found
