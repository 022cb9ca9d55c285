"""Whether a registry store shows so little that it proves nothing about a transfer's own rows."""

from collections.abc import Collection, Iterable

from providers.registries.stored_claim import StoredClaim
from registry_app.mirror.believable import UnbelievableAnswer
from registry_app.mirror.plausibility import is_too_few
from registry_app.models import Claim, Transfer, TransferItem
from registry_app.transfer.plan.claim_key import claim_key_of

_CHUNK = 500
_ITEM = TransferItem.Status


class KnownRows:
    """What is known of the stores of a transfer, beside what it changes just now.

    Of what the transfer leaves alone the mirror knows, read once: it is the same all along. Where it leaves
    nothing alone its other batches vouch for a store: their rows stand that wait, or that were read back.
    A transfer in one batch that removes every row of a store has nothing beside it. An empty store is then
    what was asked for, and believed; whatever it hides, no record set is without a claim that is to stay
    (that was read before), and the next visit tells of rows that are there after all.
    """

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._names: frozenset[str] | None = None
        self._known: dict[str, int] = {}

    def raise_if_unbelievable(
        self, reference: str, name: str, claims: Collection[StoredClaim], *, batch: int | None = None
    ) -> None:
        """Raise UnbelievableAnswer where rows that are not changed just now are gone from the store of a
        registry profile: then that others are gone, or not there yet, says nothing.

        `batch` is the one under way; None before the first.
        """
        known = self._count_known(reference)
        shown = self._count_beside(claims) if known else 0
        if is_too_few(shown, known):
            raise UnbelievableAnswer(
                f"{name} shows {shown} claims beside those of this transfer, where {known} are known"
            )
        if not claims and batch is not None and self._has_rows_beside(reference, batch):
            raise UnbelievableAnswer(f"{name} shows no claim at all, where other batches have theirs")

    def _has_rows_beside(self, reference: str, batch: int) -> bool:
        """Whether another batch has a row in the store that is not to be gone: one that waits, or is done."""
        others = self._transfer.items.exclude(batch=batch).order_by()
        for status, place in ((_ITEM.PENDING, "before"), (_ITEM.VERIFIED, "after")):
            rows = others.filter(status=status).values_list(place, flat=True).iterator(chunk_size=_CHUNK)
            if any(claim_key_of(each).store == reference for row in rows for each in row):
                return True
        return False

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
