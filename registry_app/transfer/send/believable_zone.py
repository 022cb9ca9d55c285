"""Whether a provider shows so little of its zone that it proves nothing about a transfer's own claims."""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from providers.registries.claim import TXT_REGISTRY
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint
from registry_app.mirror.believable import UnbelievableAnswer
from registry_app.mirror.plausibility import is_too_few, looks_like_claim
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Claim, RecordSet, Transfer
from registry_app.transfer.plan.claim_key import ZONE, claim_key_of

_CHUNK = 5_000


class ShownZone(NamedTuple):
    """How much an answer shows: record sets of other types than TXT, and the names of TXT records that look
    like claims, one for each."""

    record_count: int
    claim_names: Collection[str]


class KnownZone:
    """What the mirror knows of a zone beside what a transfer changes.

    Where a visit would hold an answer for what it lacks, the same answer in the middle of a transfer must not
    say that a claim is gone, nor that one was never written. Read once: a transfer changes nothing of it.
    """

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer

    def raise_if_unbelievable(self, shown: ShownZone) -> None:
        """Raise UnbelievableAnswer where too little is shown of what the transfer leaves alone."""
        known = self._transfer.provider.record_set_count
        if is_too_few(shown.record_count, known) and is_too_few(shown.record_count, self._record_count):
            raise UnbelievableAnswer(
                f"{shown.record_count} record sets are shown where {self._record_count} are known"
            )
        beside = sum(name not in self._own_names for name in shown.claim_names)
        # The claims of the whole provider first: mostly that is enough, and nothing is read.
        if not is_too_few(beside, self._transfer.provider.claim_count):
            return
        if is_too_few(beside, self._claim_count):
            raise UnbelievableAnswer(
                f"{beside} claims are shown beside those of this transfer, where {self._claim_count} are "
                "known"
            )

    @cached_property
    def _own_names(self) -> frozenset[str]:
        """The names at which the transfer has, or is to have, claims in the zone."""
        sides = self._transfer.items.order_by().values_list("before", "after").iterator(chunk_size=500)
        keys = (claim_key_of(endpoint) for before, after in sides for endpoint in (*before, *after))
        return frozenset(key.name for key in keys if key.store == ZONE)

    @cached_property
    def _record_count(self) -> int:
        rows = RecordSet.objects.filter(provider=self._transfer.provider_id, missing_since__isnull=True)
        return rows.exclude(record_type="TXT").count()

    @cached_property
    def _claim_count(self) -> int:
        rows = Claim.objects.filter(provider=self._transfer.provider_id).exclude(txt_name="")
        places = rows.order_by().values_list("txt_name", "set_identifier").distinct()
        return sum(name not in self._own_names for name, _ in places.iterator(chunk_size=_CHUNK))


def count_shown_zone(endpoints: Iterable[Endpoint]) -> ShownZone:
    """What an answer shows, without reading its claims."""
    record_count, claim_names = 0, []
    for endpoint in endpoints:
        if endpoint.record_type.upper() != "TXT":
            record_count += 1
        elif any(looks_like_claim(target) for target in endpoint.targets):
            claim_names.append(_canonical(endpoint.dns_name))
    return ShownZone(record_count, claim_names)


def count_shown_in(snapshot: Snapshot) -> ShownZone:
    """What a snapshot shows."""
    record_count = sum(record.key.record_type != "TXT" for record in snapshot.records)
    claims = (claim.endpoint for claim in snapshot.claims if claim.registry == TXT_REGISTRY)
    places = {(_canonical(each.dns_name), each.set_identifier) for each in claims}
    return ShownZone(record_count, [name for name, _ in places])


def _canonical(name: str) -> str:
    try:
        return canonical_name(name)
    except InvalidName:
        return name
