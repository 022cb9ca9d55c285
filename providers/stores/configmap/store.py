"""The ConfigMap registry as a store: each owner's rows in ConfigMaps of its own, in one namespace."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
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
from providers.registries.configmap.export import Export, build_restore, export_registry, parse_export
from providers.registries.configmap.layout import parse_map_name
from providers.registries.configmap.registry import (
    OUR_KEYS,
    Entries,
    MapData,
    Registry,
    UnreadableRegistry,
    find_registry,
    read_registries,
)
from providers.registries.configmap.resync import NO_OWNERS, Comparison, build_rebuild, compare_with_provider
from providers.registries.configmap.writing import MAX_SHARD_BYTES, MapWrite, WritePlan
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts
from providers.registries.stored_claim import StoredClaim, StoredClaimChange, StoreReading, compute_digest
from providers.stores.kubernetes.client import CONFIG_MAPS, KubernetesClient
from providers.stores.kubernetes.refusals import Conflict
from providers.stores.kubernetes.remembered import RememberedObjects
from providers.wire.endpoint import Endpoint, EndpointKey

_Registries = Mapping[str, Registry]
_Owners = Mapping[EndpointKey, str]
# From all registries there are: what the registries of owners are to say, in the order of writing.
_BuildEdits = Callable[[_Registries], Iterable[tuple[str, Entries]]]
# How often a write is begun at all: each time another writer was first, everything is read and compared anew.
_MOST_BEGINNINGS: Final = 3
_NAMED_MAPS: Final = 5
_UNREADABLE_HINT: Final = (
    "Nothing of this namespace's registries was used. Look at the ConfigMap with kubectl: mend it, restore "
    "the registry from an export, or, if it is no registry, keep it in another namespace."
)


class NoRegistry(ProviderError):
    """The owner has no registry in this namespace."""

    code = "no_registry"


class ConfigMapStore:
    """Claims in the ConfigMaps `<owner id>-storage` of one namespace. Threads may share it.

    A claim is a row, or an intent, that names the owner in whose own map it is; what a map says of other
    owners is no claim. `max_items` bounds the rows of one owner.

    `remembers`: for one thread that reads again and again. What stands unchanged since its last reading is
    neither fetched nor decoded again.
    """

    def __init__(
        self, client: KubernetesClient, namespace: str, max_items: int, *, remembers: bool = False
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._max_items = max_items
        self._remembered = RememberedObjects(CONFIG_MAPS, namespace) if remembers else None
        self._known: dict[str, MapData] = {}

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all owners, each record set once for each of them.

        Raises ProviderError, and MalformedAnswer naming the ConfigMap where a registry cannot be read as a
        whole: no claim of any owner then counts as gone.
        """
        return _list_claims(self._fetch())

    def fetch_reading(self) -> StoreReading:
        """The texts of all registries; each is only read when the claims are asked for."""
        objects = self._fetch_objects(self._client)
        return StoreReading(_compute_objects_digest(objects), lambda: _list_claims(self._read(objects)[1]))

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still has `old`, and none if one does not.

        A claim that moves is written in its new owner's map before it goes from the old one's, so that
        there is one at every moment. A change that stands already is taken for made: what was cut short is
        completed by writing it again. Raises NothingSent (Conflict if others kept being first), and
        OutcomeUnknown once a row was written.
        """
        if changes:
            self._write(lambda registries: build_edits(changes, registries))

    def compare(
        self,
        owner_id: str,
        endpoints: Iterable[Endpoint],
        *,
        owners: _Owners = NO_OWNERS,
    ) -> Comparison:
        """Where an owner's registry and its provider's `endpoints`, all of them, differ.

        `owners` are the owners of record sets by other registries, such as TXT. Raises ProviderError.
        """
        return compare_with_provider(find_registry(self._fetch(), owner_id), endpoints, owners)

    def rebuild(
        self, owner_id: str, endpoints: Sequence[Endpoint], *, owners: _Owners = NO_OWNERS
    ) -> Comparison:
        """Make an owner's registry agree with what its provider shows, `endpoints`; what was different.

        What another owner claims in a map of its own, or has in `owners`, gets a row that names it. The
        owner's own rows stay its own, even where there is no record set: it may be on its way. Raises as
        `write` does.
        """

        def build(registry: Registry, others: _Owners) -> Entries:
            return build_rebuild(registry, endpoints, {**owners, **others})

        registries = self._write_registry(owner_id, build)
        return compare_with_provider(find_registry(registries, owner_id), endpoints, owners)

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

        Cut short, it is completed by asking again. Raises as `write` does: NothingSent too where something
        stands that contradicts it.
        """

        self._write_registry(export.owner_id, partial(build_restore, export))

    def _fetch_objects(self, client: KubernetesClient) -> list[KubernetesObject]:
        """The ConfigMaps of our names."""
        if self._remembered is not None:
            objects = self._remembered.fetch(client)
        else:
            objects = client.list_objects(CONFIG_MAPS, self._namespace)
        return [obj for obj in objects if parse_map_name(read_metadata(obj, "name"))]

    def _read(self, objects: Iterable[KubernetesObject]) -> tuple[dict[str, MapData], _Registries]:
        """ConfigMaps by name, and the registries in them by owner. Raises MalformedAnswer where one cannot be
        read as a whole."""
        known, maps = self._known, {}
        for obj in objects:
            name = read_metadata(obj, "name")
            is_known = name in known and known[name].obj is obj
            maps[name] = known[name] if is_known else MapData(obj, self._max_items)
        if self._remembered is not None:
            self._known = maps
        try:
            return maps, read_registries(maps, self._max_items)
        except UnreadableRegistry as error:
            raise MalformedAnswer(
                f"{error} It is in the namespace {self._namespace}.", hint=_UNREADABLE_HINT
            ) from error

    def _fetch(self) -> _Registries:
        return self._read(self._fetch_objects(self._client))[1]

    def _write_registry(self, owner_id: str, build: Callable[[Registry, _Owners], Entries]) -> _Registries:
        """Write what `build` makes of an owner's registry and of who else claims what."""

        def build_wanted(registries: _Registries) -> list[tuple[str, Entries]]:
            registry, others = find_registry(registries, owner_id), _find_others(registries, owner_id)
            return [(owner_id, build(registry, others))]

        return self._write(build_wanted)

    def _write(self, build: _BuildEdits) -> _Registries:
        """Read, decide and write; from the beginning again where another writer was first. What was read.

        One deadline for all of it: the caller's lease lasts as long as that, and no longer.
        """
        client = self._client.with_one_deadline()
        written: list[str] = []
        for _ in range(_MOST_BEGINNINGS):
            try:
                return self._write_once(client, build, written)
            except Conflict as error:
                conflict = error
            except (ProviderError, RegistryError) as error:
                raise _build_failure(error, written) from error
        if written:
            raise _build_failure(conflict, written) from conflict
        raise Conflict(
            f"The change was not made: in each of {_MOST_BEGINNINGS} attempts another writer of the "
            f"namespace {self._namespace} was first. {conflict}",
            reason=conflict,
            hint="Nothing was changed. Ask again when the other writer is done.",
        ) from conflict

    def _write_once(self, client: KubernetesClient, build: _BuildEdits, written: list[str]) -> _Registries:
        """`written`: here go the names of the ConfigMaps in which rows were changed."""
        maps, registries = self._read(self._fetch_objects(client))
        plan = WritePlan(registries, maps, MAX_SHARD_BYTES)
        for owner_id, wanted in build(registries):
            plan.add(owner_id, wanted)
        standing = {name: data.obj for name, data in maps.items()}
        for write in plan.writes:
            before = standing.get(write.name)
            standing[write.name] = self._write_map(client, before, write)
            if write.has_edits and standing[write.name] is not before:
                written.append(write.name)
        return registries

    def _write_map(
        self, client: KubernetesClient, standing: KubernetesObject | None, write: MapWrite
    ) -> KubernetesObject:
        """Write a ConfigMap, all else in it kept, if it is as it was read; nothing is sent for no change."""
        before = read_texts(standing or {}, "data")
        data = {key: text for key, text in before.items() if key not in OUR_KEYS} | dict(write.data)
        if standing is None:
            metadata: KubernetesObject = {
                "name": write.name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/managed-by": "dnsadmin"},
            }
            kind: KubernetesObject = {"apiVersion": CONFIG_MAPS.api_version, "kind": CONFIG_MAPS.kind}
            return client.create(
                CONFIG_MAPS, self._namespace, {**kind, "metadata": metadata, "data": {**data}}
            )
        if before == data:
            return standing
        return client.replace(CONFIG_MAPS, self._namespace, {**standing, "data": {**data}})


def _compute_objects_digest(objects: Iterable[KubernetesObject]) -> bytes:
    """The digest of all that claims are read from: the texts of the registries' own keys, by ConfigMap."""
    found = {read_metadata(obj, "name"): read_texts(obj, "data") for obj in objects}
    return compute_digest(
        [
            (name, *((key, texts[key]) for key in OUR_KEYS if key in texts))
            for name, texts in sorted(found.items())
        ]
    )


def _list_claims(registries: _Registries) -> list[StoredClaim]:
    return [claim for _, registry in sorted(registries.items()) for claim in registry.claims]


def _find_others(registries: _Registries, owner_id: str) -> dict[EndpointKey, str]:
    """Who else claims what: each of the other owners for its own record sets."""
    return {
        claim.key: other
        for other, registry in sorted(registries.items())
        if other != owner_id
        for claim in registry.claims
        if claim.is_settled
    }


def _build_failure(error: ProviderError | RegistryError, written: Iterable[str]) -> ProviderError:
    """What a failed write is to its caller: nothing sent, or an outcome that has to be read."""
    names = list(dict.fromkeys(written))
    if names:
        more = f" and {len(names) - _NAMED_MAPS} more" if len(names) > _NAMED_MAPS else ""
        return OutcomeUnknown(
            f"The change was made in part. Written: {', '.join(names[:_NAMED_MAPS])}{more}. Then: {error}",
            reason=error if isinstance(error, ProviderError) else None,
            hint="Read the claims before doing anything. Asking for the same change again completes it.",
        )
    if isinstance(error, RegistryError):
        return NothingSent(f"The change was not made: {error}")
    return error if isinstance(error, ChangeNotConfirmed) else build_change_error(error, was_sent=False)
