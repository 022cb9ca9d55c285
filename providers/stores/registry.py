"""What a registry is: where it keeps its claims, which settings it has, and how its store is used.

Each registry is one `RegistryKind` in a file of its own and one line in `registry_catalogue`. Nothing else
compares kinds: it asks the kind.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Protocol, runtime_checkable

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.errors import ProviderError, build_change_error
from providers.registries.configmap.resync import Comparison
from providers.registries.export import Export
from providers.registries.stored_claim import StoredClaim, StoredClaimChange, StoreReading
from providers.stores.kubernetes.client import KubernetesClient
from providers.wire.endpoint import Endpoint, EndpointKey

_Owners = Mapping[EndpointKey, str]


class RegistryStore(Protocol):
    """A registry store, as one or more ExternalDNS instances use it. Safe to call from several threads."""

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """All claims there are now, in any order; none twice.

        Raises ProviderError: a response that is not whole is never taken for an empty store. A row that is
        not valid comes with its `problem`; it does not fail the others.
        """

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still holds `old`, and only then. Returning proves nothing: read back.

        Raises NothingSent where nothing was changed: nothing had left, or the store's own service refused all
        of it, as it does when another writer was first. Raises OutcomeUnknown for everything else: some of
        the changes may have been made.
        """


@runtime_checkable
class DigestingStore(Protocol):
    """A store that can see that nothing changed, without understanding a row of it."""

    def fetch_reading(self) -> StoreReading:
        """All that claims are read from, now. Raises ProviderError as `fetch_claims` does: it, or the
        reading when its claims are asked for."""


@runtime_checkable
class NamedClaimsStore(RegistryStore, Protocol):
    """A store that gives the claims at some names, and loses none: nobody but dnsadmin writes it."""

    def fetch_claims_at(self, names: Collection[str]) -> Sequence[StoredClaim]:
        """All claims for record sets at canonical names."""


@runtime_checkable
class ResyncableStore(RegistryStore, Protocol):
    """A store whose rows repeat what the provider shows, so that they can be compared and made equal again.

    `owners` are those that all registries of the provider together find. All raise ProviderError.
    """

    def compare(self, owner_id: str, endpoints: Iterable[Endpoint], *, owners: _Owners) -> Comparison:
        """How the rows of an owner differ from what the provider shows."""

    def rebuild(self, owner_id: str, endpoints: Sequence[Endpoint], *, owners: _Owners) -> None:
        """Update the rows of an owner to what the provider shows; no row changes its owner."""


@runtime_checkable
class ExportableStore(RegistryStore, Protocol):
    """A store that gives all rows of one owner, or of all, as a document, and takes them back."""

    def export(self, owner_id: str, *, when: datetime) -> bytes:
        """The registry of an owner; empty: of all, where the store can. Raises ProviderError."""

    def parse_export(self, document: bytes, *, max_items: int) -> Export:
        """What a document of this kind of store has. Nothing is sent. Raises RegistryError."""

    def restore(self, export: Export) -> None:
        """Write the rows of a document that are not there. Raises ProviderError."""


@contextmanager
def reading_before_write() -> Iterator[None]:
    """What a store reads before it sends a change: where that fails, nothing was sent. Raises NothingSent."""
    try:
        yield
    except ProviderError as error:
        raise build_change_error(error, was_sent=False) from error


class RecordsResponse(Protocol):
    """A provider's response to `GET /records`."""

    @property
    def body(self) -> bytes: ...


class RecordsClient(Protocol):
    """What a store may use of its provider's client."""

    def records(self) -> RecordsResponse: ...
    def apply_changes(self, change_set_body: bytes, /) -> None: ...


@dataclass(frozen=True)
class StoreSettings:
    """The settings of one registry profile that say where its store is; without secrets."""

    kubernetes_api: str = ""
    namespace: str = ""
    table: str = ""
    region: str = ""
    endpoint_url: str = ""
    access_key_id: str = ""


@dataclass(frozen=True)
class StoreAccess:
    """What a store may be opened with; each registry takes what it needs.

    `client` is that of its provider, where it is open. `fetch_secret` returns a secret of the registry
    profile by the name of its setting. `remembers`: for one thread that reads the store again and again.
    """

    client: RecordsClient | None
    policy: AddressPolicy
    limits: Limits
    open_kubernetes: Callable[[], KubernetesClient]
    open_database: Callable[[], RegistryStore]
    fetch_secret: Callable[[str], str]
    capitalized_keys: bool = False
    remembers: bool = False


class ClaimPlace(Enum):
    """Where the claims of a registry are."""

    ZONE = auto()  # TXT records of the zone
    ENDPOINTS = auto()  # labels of the provider's own endpoints
    STORE = auto()  # rows of a store beside the zone
    NOWHERE = auto()  # it has none


@dataclass(frozen=True)
class EndpointClaims:
    """How the claims of a registry are read from endpoints and written into them: in one `label`."""

    label: str
    read: Callable[[Iterable[Endpoint]], Sequence[StoredClaim]]
    write: Callable[[Endpoint, str | None], Endpoint]


@dataclass(frozen=True)
class RegistryKind:
    """One kind of registry.

    `name` is what ExternalDNS calls it (`--registry`), `label` what people read. `settings` are the columns
    of a registry profile that it uses, in the order they are shown; `questions` name those that it needs,
    each with the question for whoever left it out. Two profiles with the same `identity` at one provider are
    the same store. `where` names the place of its claims in a sentence, with settings in braces;
    `description` is what a reviewer is shown of a store: words, and the setting of each.
    """

    name: str
    label: str
    place: ClaimPlace
    where: str
    settings: tuple[str, ...] = ()
    # By setting: ExternalDNS's flag for it, and what that is where it is not given.
    flags: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    identity: tuple[str, ...] = ()
    description: Mapping[str, str] = field(default_factory=dict)
    # How its store is opened, where it has one. Nothing is sent; raises ProviderError.
    open: Callable[[StoreSettings, StoreAccess], RegistryStore] | None = None
    # Set where `place` is ENDPOINTS.
    endpoint_claims: EndpointClaims | None = None
    # Its rows can be marked as written before their record sets (`StoredClaimChange.is_intent`).
    has_intents: bool = False
    # Its store is a ResyncableStore, an ExportableStore.
    can_resync: bool = False
    can_export: bool = False
    # Its instances write TXT claims, in the format that the profile names, to the guard, which keeps them in
    # the profile's own store: two profiles never have the same one.
    is_behind_guard: bool = False
    # When running instances read it, where a change of a claim is not noticed by the next sync.
    reads_once: str = ""

    @property
    def is_in_zone(self) -> bool:
        """Whether its claims are TXT records of the zone."""
        return self.place is ClaimPlace.ZONE

    @property
    def has_store(self) -> bool:
        """Whether its claims are somewhere else, so that it belongs to exactly one provider."""
        return self.open is not None

    @property
    def is_beside_response(self) -> bool:
        """Whether its claims are read in requests of their own, beside the provider's response."""
        return self.place is ClaimPlace.STORE

    @property
    def keeps_claims(self) -> bool:
        """Whether there are claims at all. Without them an instance manages every record set that it sees."""
        return self.place is not ClaimPlace.NOWHERE

    def describe(self, settings: StoreSettings) -> dict[str, str]:
        """Where the store of a profile is, for a person who reviews what is written into it."""
        return {words: str(getattr(settings, name)) for words, name in self.description.items()}
