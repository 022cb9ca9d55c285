"""The ConfigMaps of one namespace as last seen, the registries in them, and single writes to them."""

from collections.abc import Iterable, Mapping
from typing import Final

from providers.http.errors import MalformedAnswer
from providers.registries.configmap.index import Index, ShardMark, UnreadableIndex, parse_index, parse_mark
from providers.registries.configmap.names import MapName, UnstorableOwner, format_map_name, parse_map_name
from providers.registries.configmap.registry import MapData, Registry, UnreadableRegistry, read_registry
from providers.registries.configmap.shards import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    NoRoom,
    Shard,
    format_data,
    measure,
    measure_data,
)
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object, read_texts
from providers.registries.store_contents import compute_digest
from providers.stores.kubernetes.client import CONFIG_MAPS, KubernetesClient
from providers.stores.kubernetes.remembered import RememberedObjects

_OURS: Final = (RECORDS, INTENTS, INDEX, SHARD)
# What an API takes; our own shards stay well below.
_MOST_BYTES: Final = 1024 * 1024
_HINT: Final = (
    "Nothing of this namespace's registries was used. Look at the ConfigMap with kubectl: mend it, restore "
    "the registry from an export, or, if it is no registry, keep it in another namespace."
)


class NamespaceMaps:
    """The registries of a namespace at one moment, kept up with our own writes. For one thread."""

    def __init__(
        self,
        client: KubernetesClient,
        namespace: str,
        objects: Iterable[KubernetesObject],
        max_items: int,
        memory: "MapMemory | None" = None,
    ) -> None:
        """Raises UnreadableRegistry: what cannot be read as a whole is never taken for an empty registry."""
        read_data = memory.read_data if memory else _read_data
        self._client = client
        self._namespace = namespace
        self._max_items = max_items
        self._objects = {read_metadata(obj, "name"): obj for obj in objects}
        self._data = {name: read_data(obj) for name, obj in self._objects.items() if parse_map_name(name)}
        self.registries = _read_registries(self._data, max_items)

    def refresh(self, owner_id: str) -> Registry:
        """The registry of an owner as our last writes left it."""
        self.registries[owner_id] = read_registry(owner_id, self._data, self._max_items)
        return self.registries[owner_id]

    def foreign_names(self) -> set[str]:
        """Names of ConfigMaps that are no shard of ours, so that none is put there."""
        return {name for name, obj in self._objects.items() if _find_mark(read_texts(obj, "data")) is None}

    def raise_if_foreign(self, name: str) -> None:
        """Raise NoRoom if a ConfigMap of this name holds what is no registry."""
        obj = self._objects.get(name)
        if obj is not None and (read_object(obj, "data") or read_object(obj, "binaryData")):
            raise NoRoom(
                f"There is a ConfigMap {name} in the namespace {self._namespace} that is no registry: it has "
                "no `records`. It was left as it is."
            )

    def put(self, shard: Shard, index: Index) -> bool:
        """Write a shard into its ConfigMap, all else in it kept; False if it stands there just so already.

        Raises NoRoom, and as KubernetesClient does: Conflict if somebody wrote it since it was seen.
        """
        name = shard.entry.name
        held = self._objects.get(name)
        if measure(shard, index) > _MOST_BYTES:
            raise NoRoom(f"The ConfigMap {name} would take more than 1 MiB, which no Kubernetes API accepts.")
        if held is None:
            new = self._build_object(shard, index)
            self._keep(self._client.create(CONFIG_MAPS, self._namespace, new))
            return True
        texts = format_data(shard, index)
        standing = read_texts(held, "data")
        kept = {key: value for key, value in standing.items() if key not in _OURS}
        data = {**kept, **{key: value for key, value in texts.items() if value is not None}}
        if data == standing:
            return False
        written: KubernetesObject = {**held, "data": {**data}}
        self._keep(self._client.replace(CONFIG_MAPS, self._namespace, written))
        return True

    def _keep(self, obj: KubernetesObject) -> None:
        name = read_metadata(obj, "name")
        self._objects[name] = obj
        self._data[name] = _read_data(obj)

    def _build_object(self, shard: Shard, index: Index) -> KubernetesObject:
        return {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": shard.entry.name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/managed-by": "dnsadmin"},
            },
            "data": {key: value for key, value in format_data(shard, index).items() if value is not None},
        }


class MapMemory:
    """The ConfigMaps of a namespace from one reading to the next: what stands unchanged is neither fetched
    nor understood again. For one thread."""

    def __init__(self, namespace: str) -> None:
        self._remembered = RememberedObjects(CONFIG_MAPS, namespace)
        self._known: dict[str, tuple[KubernetesObject, MapData]] = {}

    def fetch(self, client: KubernetesClient) -> list[KubernetesObject]:
        """All ConfigMaps as they stood at one moment. Raises ProviderError."""
        objects = self._remembered.fetch(client)
        names = {_name_of(obj) for obj in objects}
        self._known = {name: each for name, each in self._known.items() if name in names}
        return objects

    def read_data(self, obj: KubernetesObject) -> MapData:
        """What of a ConfigMap matters; the very same as before where the ConfigMap is."""
        known = self._known.get(_name_of(obj))
        if known is None or known[0] is not obj:
            known = self._known[_name_of(obj)] = (obj, _read_data(obj))
        return known[1]


def fetch_maps(
    client: KubernetesClient, namespace: str, max_items: int, memory: MapMemory | None = None
) -> NamespaceMaps:
    """The registries of a namespace. Raises ProviderError: MalformedAnswer where one cannot be read."""
    return read_maps(client, namespace, fetch_objects(client, namespace, memory), max_items, memory)


def fetch_objects(
    client: KubernetesClient, namespace: str, memory: MapMemory | None = None
) -> list[KubernetesObject]:
    """All ConfigMaps of a namespace, not read yet. Raises ProviderError."""
    return memory.fetch(client) if memory else client.list_objects(CONFIG_MAPS, namespace)


def read_maps(
    client: KubernetesClient,
    namespace: str,
    objects: Iterable[KubernetesObject],
    max_items: int,
    memory: MapMemory | None = None,
) -> NamespaceMaps:
    """The registries in ConfigMaps that were fetched. Raises MalformedAnswer where one cannot be read."""
    try:
        return NamespaceMaps(client, namespace, objects, max_items, memory)
    except UnreadableRegistry as error:
        raise MalformedAnswer(f"{error} It is in the namespace {namespace}.", hint=_HINT) from error


def compute_objects_digest(objects: Iterable[KubernetesObject]) -> bytes:
    """The digest of all that claims are read from: the texts of the registries' own keys, by ConfigMap."""
    return compute_digest(sorted(_list_texts(obj) for obj in objects if parse_map_name(_name_of(obj))))


def _list_texts(obj: KubernetesObject) -> tuple[bytes, list[tuple[str, bytes]]]:
    texts = read_texts(obj, "data")
    # A lone surrogate may have come in as an escape.
    found = [(key, texts[key].encode(errors="surrogatepass")) for key in _OURS if key in texts]
    return _name_of(obj).encode(errors="surrogatepass"), found


def _name_of(obj: KubernetesObject) -> str:
    return read_metadata(obj, "name")


def _read_registries(maps: Mapping[str, MapData], max_items: int) -> dict[str, Registry]:
    """All registries, by owner. Raises UnreadableRegistry."""
    registries: dict[str, Registry] = {}
    for name, found in maps.items():
        parsed = parse_map_name(name)
        if parsed is None:
            continue
        if parsed.shard:
            _raise_if_orphaned(name, parsed, maps)
        elif RECORDS in found.texts:
            if _can_be_written(parsed.owner_id):
                registries[parsed.owner_id] = read_registry(parsed.owner_id, maps, max_items)
        elif _is_index(found.texts.get(INDEX), name):
            raise UnreadableRegistry(f"The ConfigMap {name} has lost its `records`.")
    return registries


def _read_data(obj: KubernetesObject) -> MapData:
    texts = read_texts(obj, "data")
    return MapData(texts, _measure_others(obj, texts))


def _measure_others(obj: KubernetesObject, texts: Mapping[str, str]) -> int:
    # Base64 text is longer than the bytes it stands for: this errs on the safe side.
    others = {key: value for key, value in texts.items() if key not in _OURS}
    return measure_data({**others, **read_texts(obj, "binaryData")})


def _raise_if_orphaned(name: str, parsed: MapName, maps: Mapping[str, MapData]) -> None:
    """A shard without an index, which is written before any shard: somebody else deleted it, or wrote over
    it, and what is left is not the whole registry."""
    first = name.removesuffix(f"-{parsed.shard}")
    has_index = first in maps and {RECORDS, INDEX} <= maps[first].texts.keys()
    if not has_index and RECORDS in maps[name].texts and _find_mark(maps[name].texts) is not None:
        raise UnreadableRegistry(
            f"The ConfigMap {first} is gone or has lost its index, while its shard {name} is still there."
        )


def _find_mark(texts: Mapping[str, str]) -> ShardMark | None:
    try:
        return parse_mark(texts[SHARD]) if SHARD in texts else None
    except UnreadableIndex:
        return None


def _is_index(text: str | None, name: str) -> bool:
    try:
        return text is not None and bool(parse_index(text, name).shards)
    except UnreadableIndex:
        return False


def _can_be_written(owner_id: str) -> bool:
    try:
        return bool(format_map_name(owner_id))
    except UnstorableOwner:
        return False  # its name has no room for the numbers of shards; no owner of ours has such a one
