"""What a place that keeps claims beside DNS must offer."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from providers.registries.store_contents import StoreReading
from providers.registries.stored_claim import StoredClaim, StoredClaimChange


class RegistryStore(Protocol):
    """A registry store, as one or more ExternalDNS instances use it. Safe to call from several threads."""

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """All claims held now, in any order; none twice.

        Raises ProviderError: an answer that is not whole is never taken for an empty store. A row that
        cannot be believed comes with its `problem`; it does not fail the others.
        """
        ...

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still holds `old`, and only then. Returning proves nothing: read back.

        Raises NothingSent where nothing was changed: nothing had left, or the store's own service refused all
        of it, as it does when another writer was first. Raises OutcomeUnknown for everything else: some of
        the changes may have been made.
        """
        ...


@runtime_checkable
class DigestingStore(Protocol):
    """A store that can tell that it says what it said before, without understanding a row of it."""

    def fetch_reading(self) -> StoreReading:
        """All that claims are read from, now. Raises ProviderError as `fetch_claims` does: it, or the
        reading when its claims are asked for."""
        ...
