"""The ConfigMap registry as a store: each owner's rows in ConfigMaps of its own, in one namespace."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from providers.http.errors import (
    ChangeNotConfirmed,
    MalformedAnswer,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    build_change_error,
)
from providers.registries.configmap.changes import build_edits
from providers.registries.configmap.export import build_restore, export_registry, parse_export
from providers.registries.configmap.layout import parse_map_name
from providers.registries.configmap.registry import (
    OUR_KEYS,
    SHARD,
    MapData,
    Registries,
    UnreadableRegistry,
    find_registry,
    read_registries,
)
from providers.registries.configmap.resync import Comparison, build_rebuild, compare_with_provider
from providers.registries.configmap.rows import Entries
from providers.registries.configmap.writing import MAX_SHARD_BYTES, WritePlan
from providers.registries.errors import RegistryError
from providers.registries.export import Export
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts, read_version
from providers.registries.stored_claim import StoredClaim, StoredClaimChange, StoreReading, compute_digest
from providers.stores.kubernetes.client import CONFIG_MAPS, KubernetesClient
from providers.stores.kubernetes.refusals import Conflict
from providers.stores.registry import ClaimPlace, RegistryKind, StoreAccess, StoreSettings
from providers.wire.endpoint import Endpoint, EndpointKey

_Owners = Mapping[EndpointKey, str]
# From all registries there are: what the registries of owners are to say, in the order of writing.
_BuildEdits = Callable[[Registries], Iterable[tuple[str, Entries]]]
# How often a write is begun at all: each time another writer was first, everything is read and compared anew.
_MOST_BEGINNINGS: Final = 3
_UNREADABLE_HINT: Final = (
    "Nothing of this namespace's registries was used. Look at the ConfigMap with kubectl: mend it, restore "
    "the registry from an export, or, if it is no registry, keep it in another namespace."
)


class NoRegistry(ProviderError, code="no_registry"):
    """The owner has no registry in this namespace."""


class ConfigMapStore:
    """Claims in the ConfigMaps `<owner id>-storage` of one namespace. Threads may share it.

    A claim is a row, or an intent, that names the owner in whose own map it is; what a map says of other
    owners is no claim. `max_items` bounds the rows of one owner.

    `remembers`: for one thread that reads again and again. A ConfigMap that is as it was in its last
    reading is not decoded again.
    """

    def __init__(
        self, client: KubernetesClient, namespace: str, max_items: int, *, remembers: bool = False
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._max_items = max_items
        self._remembers = remembers
        self._known: dict[str, MapData] = {}

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all owners, each record set once for each of them.

        Raises ProviderError, and MalformedAnswer naming the ConfigMap where a registry cannot be read as a
        whole: no claim of any owner then counts as gone.
        """
        return _list_claims(self._fetch())

    def fetch_reading(self) -> StoreReading:
        """The texts of all registries; each is only read when the claims are asked for."""
        maps = self._fetch_maps(self._client)
        digest = compute_digest([(name, *data.texts.items()) for name, data in sorted(maps.items())])
        return StoreReading(digest, lambda: _list_claims(self._read(maps)))

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still has `old`, and none if one does not.

        A claim that moves is written in its new owner's map before it goes from the old one's, so that
        there is one at every moment. A change that stands already is taken for made: what was cut short is
        completed by writing it again. Raises NothingSent (Conflict if others kept being first), and
        OutcomeUnknown once a registry was written.
        """
        if changes:
            self._write(lambda registries: build_edits(changes, registries))

    def compare(self, owner_id: str, endpoints: Iterable[Endpoint], *, owners: _Owners) -> Comparison:
        """Where an owner's registry and its provider differ. Raises ProviderError."""
        return compare_with_provider(find_registry(self._fetch(), owner_id), endpoints, owners)

    def rebuild(self, owner_id: str, endpoints: Sequence[Endpoint], *, owners: _Owners) -> None:
        """Make an owner's registry agree with what its provider shows. Raises as `write` does."""
        self._write(lambda found: [(owner_id, build_rebuild(found, owner_id, endpoints, owners))])

    def export(self, owner_id: str, *, when: datetime) -> bytes:
        """The whole registry of an owner as one document. Raises ProviderError, NoRegistry among them."""
        registry = self._fetch().get(owner_id)
        if registry is None:
            raise NoRegistry(
                f"The owner {owner_id!r} has no ConfigMap registry in the namespace {self._namespace}.",
                hint=f"Its first ConfigMap would be named {owner_id}-storage.",
            )
        return export_registry(registry, when=when)

    def parse_export(self, document: bytes, *, max_items: int) -> Export:
        """What a document has. Raises UnusableExport."""
        return parse_export(document, max_items=max_items)

    def restore(self, export: Export) -> None:
        """Bring an export back, here or in another cluster; what stands already stays.

        Raises as `write` does: NothingSent too where something stands that contradicts it.
        """
        self._write(lambda registries: [(export.owner_id, build_restore(export, registries))])

    def _fetch_maps(self, client: KubernetesClient) -> dict[str, MapData]:
        """The ConfigMaps of our names, by name."""
        maps: dict[str, MapData] = {}
        for obj in client.list_objects(CONFIG_MAPS, self._namespace):
            name = read_metadata(obj, "name")
            known = self._known.get(name)
            is_known = known is not None and read_version(known.obj) == read_version(obj)
            if parse_map_name(name):
                maps[name] = known if known and is_known else MapData(obj, self._max_items)
        if self._remembers:
            self._known = maps
        return maps

    def _read(self, maps: Mapping[str, MapData]) -> Registries:
        """Registries by owner. Raises MalformedAnswer where one cannot be read as a whole."""
        try:
            return read_registries(maps, self._max_items)
        except UnreadableRegistry as error:
            raise MalformedAnswer(
                f"{error} It is in the namespace {self._namespace}.", hint=_UNREADABLE_HINT
            ) from error

    def _fetch(self) -> Registries:
        return self._read(self._fetch_maps(self._client))

    def _write(self, build: _BuildEdits) -> None:
        """Read, decide and write; from the beginning again where another writer was first.

        One deadline for all of it: the caller's lease lasts as long as that, and no longer.
        """
        client = self._client.with_one_deadline()
        written: list[str] = []
        for beginnings_left in reversed(range(_MOST_BEGINNINGS)):
            try:
                self._write_once(client, build, written)
            except (ProviderError, RegistryError) as error:
                if not (beginnings_left and isinstance(error, Conflict)):
                    raise _build_failure(error, written) from error
            else:
                return

    def _write_once(self, client: KubernetesClient, build: _BuildEdits, written: list[str]) -> None:
        """`written`: here go the names of the first ConfigMaps of the registries that were changed."""
        maps = self._fetch_maps(client)
        registries = self._read(maps)
        plan = WritePlan(registries, maps, MAX_SHARD_BYTES)
        for owner_id, wanted in build(registries):
            plan.add(owner_id, wanted)
        standing = {name: data.obj for name, data in maps.items()}
        for commit in plan.commits:
            for name, data in commit.writes:
                standing[name] = self._write_map(client, standing.get(name), name, data)
            written.append(name)
            if commit.obsolete:
                self._delete(client, standing[name], [standing[each] for each in commit.obsolete])

    def _write_map(
        self, client: KubernetesClient, standing: KubernetesObject | None, name: str, data: Mapping[str, str]
    ) -> KubernetesObject:
        """Write a ConfigMap if it is as it was read, all that is not ours in it kept."""
        if standing is not None:
            kept = {key: text for key, text in read_texts(standing, "data").items() if key not in OUR_KEYS}
            return client.replace(CONFIG_MAPS, self._namespace, {**standing, "data": {**kept, **data}})
        obj: KubernetesObject = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/managed-by": "dnsadmin"},
            },
            "data": {**data},
            # Whatever a person put into a further shard would go with its next version.
            "immutable": SHARD in data,
        }
        return client.create(CONFIG_MAPS, self._namespace, obj)

    def _delete(
        self, client: KubernetesClient, first: KubernetesObject, obsolete: Sequence[KubernetesObject]
    ) -> None:
        """Delete what the index does not name any more, once a reading shows that it was written. What cannot
        be deleted now is left over for the next write: the change is made all the same."""
        with suppress(ProviderError):
            now = client.find_object(CONFIG_MAPS, self._namespace, read_metadata(first, "name"))
            if now is not None and read_version(now) == read_version(first):
                for obj in obsolete:
                    client.delete(CONFIG_MAPS, self._namespace, obj)


def _list_claims(registries: Registries) -> list[StoredClaim]:
    return [claim for _, registry in sorted(registries.items()) for claim in registry.claims]


def _build_failure(error: ProviderError | RegistryError, written: Iterable[str]) -> ProviderError:
    """What a failed write is to its caller: nothing sent, or an outcome that has to be read."""
    names = ", ".join(dict.fromkeys(written))
    if names:
        return OutcomeUnknown(
            f"The change was made in part. Written: {names}. Then: {error}",
            reason=error if isinstance(error, ProviderError) else None,
            hint="Read the claims before doing anything. Asking for the same change again completes it.",
        )
    if isinstance(error, RegistryError):
        return NothingSent(f"The change was not made: {error}")
    return error if isinstance(error, ChangeNotConfirmed) else build_change_error(error, was_sent=False)


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
