"""What a place that keeps claims beside DNS must offer."""

from collections.abc import Sequence
from typing import Protocol

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
