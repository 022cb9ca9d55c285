"""Whether a registry store shows so little that it proves nothing about a transfer's own rows."""

from collections.abc import Collection, Iterable

from providers.registries.stored_claim import StoredClaim
from registry_app.mirror.believable import UnbelievableAnswer
from registry_app.models import Claim, Transfer

# As for the records of a provider: under 70 % of ten or more known.
_SHRINK_FLOOR = 10
_SHRINK_PERCENT = 70


class KnownRows:
    """What the mirror knows of the stores of a transfer, beside what the transfer itself changes.

    Read once: rows of a running transfer move, those beside it are the same all along.
    """

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._names: frozenset[str] | None = None
        self._known: dict[str, int] = {}

    def raise_if_unbelievable(self, reference: str, name: str, claims: Collection[StoredClaim]) -> None:
        """Raise UnbelievableAnswer where the rows that this transfer leaves alone are gone from the store
        of a registry profile: then that its own are gone, or not there yet, says nothing."""
        known = self._count_known(reference)
        if not known:
            return
        shown = self._count_beside(claims)
        if shown == 0 or (known >= _SHRINK_FLOOR and shown * 100 < known * _SHRINK_PERCENT):
            raise UnbelievableAnswer(
                f"{name} shows {shown} claims beside those of this transfer, where {known} are known"
            )

    def _count_known(self, reference: str) -> int:
        if reference not in self._known:
            rows = Claim.objects.filter(provider=self._transfer.provider_id, registry_profile=int(reference))
            beside = rows.exclude(record_name__in=self._transfer.items.order_by().values("name"))
            self._known[reference] = beside.count()
        return self._known[reference]

    def _count_beside(self, claims: Iterable[StoredClaim]) -> int:
        if self._names is None:
            self._names = frozenset(self._transfer.items.order_by().values_list("name", flat=True))
        return sum(claim.key.name not in self._names for claim in claims)
