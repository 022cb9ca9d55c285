"""Whether an answer shows so little that it proves nothing."""

from collections.abc import Collection, Iterator

from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from registry_app.mirror.lost_claims import LostClaims, fetch_lost_claims
from registry_app.mirror.plausibility import FLOOR, NOTHING, Shown, is_too_few
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Provider, RecordSet
from registry_app.queries.loop_items import deleted_since
from registry_app.queries.transfer_items import touched_since


class UnbelievableAnswer(WireError):
    """The provider, or a registry store, shows so little that its answer proves nothing: not that a claim is
    gone, nor that one was never written."""


def raise_if_unbelievable(provider: Provider, shown: Shown, removed: Shown = NOTHING) -> None:
    """Raise UnbelievableAnswer where a visit would hold a snapshot for how few record sets it has: look
    again. `removed` is what the caller deleted since the mirror was last true. Database read."""
    known = provider.record_set_count - removed.record_sets
    if not is_too_few(shown.record_sets, known):
        return
    if known < FLOOR and provider.allow_empty:
        return
    # A text that looks like an encrypted claim may be a record set of its own: where the other types are all
    # there, too few texts prove nothing.
    typed = _count_typed(provider) - removed.typed
    if typed <= 0 or is_too_few(shown.typed, typed):
        raise UnbelievableAnswer(f"{shown.record_sets} record sets are shown where {known} are known")


def raise_if_claims_are_gone(provider: Provider, shown: Shown, removed: Shown = NOTHING) -> None:
    """Raise UnbelievableAnswer where a visit would hold a snapshot for showing none of the known claims. For
    a provider whose claims all stand in its zone; the others are asked about their stores."""
    known = provider.claim_count - removed.claims
    if known > 0 and shown.claims == 0 and shown.record_sets > 0:
        raise UnbelievableAnswer(f"no claim is shown where {known} are known")


def _count_typed(provider: Provider) -> int:
    rows = RecordSet.objects.filter(provider=provider.pk, missing_since__isnull=True)
    return rows.exclude(record_type="TXT").count()


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
