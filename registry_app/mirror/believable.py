"""Whether an answer shows so little that it proves nothing."""

from collections.abc import Collection, Iterator

from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from registry_app.mirror.lost_claims import LostClaims, fetch_lost_claims
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Provider
from registry_app.queries.loop_items import deleted_since
from registry_app.queries.transfer_items import touched_since

# As in a visit: under 70 % of ten or more known.
_SHRINK_FLOOR = 10
_SHRINK_PERCENT = 70


class UnbelievableAnswer(WireError):
    """The provider, or a registry store, shows so little that its answer proves nothing: not that a claim is
    gone, nor that one was never written."""


def raise_if_unbelievable(provider: Provider, count: int) -> None:
    """Raise UnbelievableAnswer where a visit would hold a snapshot of `count` endpoints: look again."""
    known = provider.record_set_count
    is_empty = count == 0 and known > 0 and not provider.allow_empty
    if is_empty or (known >= _SHRINK_FLOOR and count * 100 < known * _SHRINK_PERCENT):
        raise UnbelievableAnswer(f"{count} endpoints are shown where {known} record sets are known")


def raise_if_stores_unbelievable(provider: Provider, snapshot: Snapshot) -> None:
    """Raise UnbelievableAnswer where a visit would hold it for the claims that its registry stores lost.
    Database read."""
    lost = find_lost_claims(provider, snapshot)
    if lost:
        raise UnbelievableAnswer(f"of what is known, {lost[0]} are gone while their record sets stand")


def find_lost_claims(provider: Provider, snapshot: Snapshot) -> list[LostClaims]:
    """Whose claims the registry stores in a snapshot lost since the mirror was last true. Database read."""
    return fetch_lost_claims(provider.pk, snapshot, _find_excused(provider))


def _find_excused(provider: Provider) -> Iterator[Collection[EndpointKey]]:
    """What transfers and loops of ours touched; read only when it is asked for, which is seldom."""
    yield touched_since(provider.pk, provider.accepted_at)
    yield deleted_since(provider.pk, provider.accepted_at).keys
