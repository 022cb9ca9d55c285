"""The ConfigMap registry as a store: each owner's rows in ConfigMaps of its own, in one namespace."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from providers.http.errors import NothingSent, OutcomeUnknown, ProviderError
from providers.registries.configmap.changes import build_edits
from providers.registries.configmap.comparing import NO_OWNERS, Comparison, compare_with_provider
from providers.registries.configmap.export import Export, export_registry
from providers.registries.configmap.names import format_map_name
from providers.registries.configmap.rebuilding import build_rebuild
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.restoring import build_restore
from providers.registries.errors import RegistryError
from providers.registries.store_contents import StoreReading
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.configmap.maps import (
    MapMemory,
    NamespaceMaps,
    compute_objects_digest,
    fetch_maps,
    fetch_objects,
    read_maps,
)
from providers.stores.configmap.writing import RegistryWriter
from providers.stores.kubernetes.client import Conflict, KubernetesClient
from providers.wire.endpoint import Endpoint, EndpointKey

_Result = TypeVar("_Result")
_Act = Callable[[NamespaceMaps, RegistryWriter], _Result]
# How often a write is begun at all: each time another writer was first, everything is read and compared anew.
_MOST_BEGINNINGS: Final = 3
_NAMED_MAPS: Final = 5


class NoRegistry(ProviderError):
    """The owner has no registry in this namespace."""

    code = "no_registry"


class ConfigMapStore:
    """Claims in the ConfigMaps `<owner id>-storage` of one namespace. Threads may share it.

    A claim is a row, or an intent, that names the owner in whose own map it is; what a map says of other
    owners is their neighbour's opinion. `max_items` bounds the rows of one owner.

    `remembers`: for one thread that reads again and again. What stands unchanged since its last reading is
    neither fetched nor understood again.
    """

    def __init__(
        self, client: KubernetesClient, namespace: str, max_items: int, *, remembers: bool = False
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._max_items = max_items
        self._memory = MapMemory(namespace) if remembers else None

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all owners, each record set once for each of them.

        Raises ProviderError, and MalformedAnswer naming the ConfigMap where a registry cannot be read as a
        whole: no claim of any owner is then believed to be gone.
        """
        return _list_claims(self._fetch())

    def fetch_reading(self) -> StoreReading:
        """The texts of all registries; each is only read when the claims are asked for."""
        objects = fetch_objects(self._client, self._namespace, self._memory)

        def read() -> Sequence[StoredClaim]:
            maps = read_maps(self._client, self._namespace, objects, self._max_items, self._memory)
            return _list_claims(maps)

        return StoreReading(compute_objects_digest(objects), read)

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still holds `old`, and none if one does not.

        A claim that moves is written in its new owner's map before it goes from the old one's, so that
        there is one at every moment. A change that stands already is taken for made: what was cut short is
        completed by writing it again. Raises NothingSent (Conflict if others kept being first), and
        OutcomeUnknown once a row was written.
        """
        if changes:
            self._write(lambda maps, writer: _write_changes(maps, writer, changes))

    def compare(
        self,
        owner_id: str,
        endpoints: Iterable[Endpoint],
        *,
        owners: Mapping[EndpointKey, str] = NO_OWNERS,
    ) -> Comparison:
        """Where an owner's registry and its provider's `endpoints`, all of them, differ.

        `owners` are the owners of record sets by other registries, such as TXT. Raises ProviderError.
        """
        return _compare(self._fetch().registries.get(owner_id), endpoints, _others(owners, owner_id))

    def rebuild(
        self,
        owner_id: str,
        endpoints: Sequence[Endpoint],
        *,
        owners: Mapping[EndpointKey, str] = NO_OWNERS,
        keep_own: bool = True,
    ) -> Comparison:
        """Make an owner's registry hold what its provider shows, `endpoints`, and return what was different.

        What another owner claims in a map of its own, or has in `owners`, gets a row that names it. The
        owner's own rows stay its own, and with `keep_own` stay even where there is no record set: it may be
        on its way. Raises as `write` does.
        """
        return self._write(
            lambda maps, writer: _rebuild(
                maps, writer, owner_id, endpoints, _others(owners, owner_id), keep_own=keep_own
            )
        )

    def export(self, owner_id: str, *, when: datetime) -> bytes:
        """The whole registry of an owner as one document. Raises ProviderError, NoRegistry among them."""
        registry = self._fetch().registries.get(owner_id)
        if registry is None:
            raise NoRegistry(
                f"The owner {owner_id!r} has no ConfigMap registry in the namespace {self._namespace}.",
                hint=f"Its first ConfigMap would be named {owner_id}-storage.",
            )
        rows, intents = registry.rows(), registry.intents()
        return export_registry(owner_id, rows, intents, when=when, left_out=len(registry.unreadable()))

    def restore(self, export: Export) -> None:
        """Bring an export back, here or in another cluster; what stands already stays.

        Cut short, it is completed by asking again. Raises as `write` does: NothingSent too where something
        stands that contradicts it.
        """
        self._write(lambda maps, writer: _restore(maps, writer, export))

    def _fetch(self) -> NamespaceMaps:
        return fetch_maps(self._client, self._namespace, self._max_items, self._memory)

    def _write(self, act: _Act[_Result]) -> _Result:
        """Read, decide and write; from the beginning again where another writer was first.

        One deadline for all of it: whoever asks holds a lease for as long as that, and no longer.
        """
        client = self._client.within(self._client.limits.seconds)
        written: list[str] = []
        beginning = 1
        while True:
            try:
                maps = fetch_maps(client, self._namespace, self._max_items, self._memory)
                return act(maps, RegistryWriter(maps, written))
            except Conflict as error:
                if beginning == _MOST_BEGINNINGS:
                    raise self._build_conflict(error, written) from error
                beginning += 1
            except (ProviderError, RegistryError) as error:
                raise _build_failure(error, written) from error

    def _build_conflict(self, error: Conflict, written: Sequence[str]) -> ProviderError:
        if written:
            return _build_failure(error, written)
        return Conflict(
            f"The change was not made: in each of {_MOST_BEGINNINGS} attempts another writer of the "
            f"namespace {self._namespace} was first. {error}",
            reason=error,
            hint="Nothing was changed. Ask again when the other writer is done.",
        )


def _list_claims(maps: NamespaceMaps) -> list[StoredClaim]:
    return [claim for _, registry in sorted(maps.registries.items()) for claim in registry.claims()]


def _write_changes(maps: NamespaceMaps, writer: RegistryWriter, changes: Sequence[StoredClaimChange]) -> None:
    edits = build_edits(changes, maps.registries)
    for wave in (edits.coming, edits.going):
        for owner_id, mine in sorted(wave.items()):
            writer.write(owner_id, mine)


def _rebuild(
    maps: NamespaceMaps,
    writer: RegistryWriter,
    owner_id: str,
    endpoints: Sequence[Endpoint],
    others: Mapping[EndpointKey, str],
    *,
    keep_own: bool,
) -> Comparison:
    format_map_name(owner_id)
    registry = maps.registries.get(owner_id)
    comparison = _compare(registry, endpoints, others)
    claimants = {**others, **_find_claimants(maps, owner_id)}
    writer.write(owner_id, build_rebuild(registry, owner_id, endpoints, claimants, keep_own=keep_own))
    return comparison


def _restore(maps: NamespaceMaps, writer: RegistryWriter, export: Export) -> None:
    registry = maps.registries.get(export.owner_id)
    writer.write(export.owner_id, build_restore(export, registry, _find_claimants(maps, export.owner_id)))


def _others(owners: Mapping[EndpointKey, str], owner_id: str) -> Mapping[EndpointKey, str]:
    return {key: other for key, other in owners.items() if other != owner_id}


def _compare(
    registry: Registry | None, endpoints: Iterable[Endpoint], others: Mapping[EndpointKey, str]
) -> Comparison:
    if registry is None:
        return compare_with_provider((), endpoints)
    comparison = compare_with_provider(registry.rows(), endpoints, owners=others)
    return msgspec.structs.replace(comparison, keyless=len(registry.unreadable()))


def _find_claimants(maps: NamespaceMaps, owner_id: str) -> dict[EndpointKey, str]:
    """Who else claims what: each of the other owners for its own record sets."""
    return {
        claim.key: other
        for other, registry in sorted(maps.registries.items())
        if other != owner_id
        for claim in registry.claims()
        if not claim.problem and claim.meant_targets is None
    }


def _build_failure(error: ProviderError | RegistryError, written: Sequence[str]) -> ProviderError:
    """What a failed write is to its caller: nothing sent, or an outcome that has to be looked at."""
    reason = error if isinstance(error, ProviderError) else None
    hint = reason.hint if reason else ""
    if written:
        return OutcomeUnknown(
            f"The change was made in part: {_list_maps(written)} before this happened: {error}",
            reason=reason,
            hint="Read the claims before doing anything. Asking for the same change again completes it.",
        )
    if isinstance(error, (NothingSent, OutcomeUnknown)):
        return error
    return NothingSent(f"The change was not sent: {error}", reason=reason, hint=hint)


def _list_maps(written: Sequence[str]) -> str:
    names = list(dict.fromkeys(written))
    listed = ", ".join(names[:_NAMED_MAPS])
    rest = len(names) - _NAMED_MAPS
    more = f" and {rest} more" if rest > 0 else ""
    return f"the ConfigMap {listed} was written" if len(names) == 1 else f"{listed}{more} were written"
