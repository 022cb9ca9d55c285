"""A response compared with the mirror of its provider, where it is read outside a sync."""

from collections.abc import Collection, Iterator

from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from registry_app.mirror.lost_claims import fetch_lost_claims
from registry_app.mirror.plausibility import (
    NOTHING,
    Comparison,
    Counts,
    LostClaims,
    Thresholds,
    compare_counts,
    find_reasons,
)
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Provider, RecordSet
from registry_app.queries.own_deletes import deleted_since
from registry_app.queries.transfer_items import touched_since


class ImplausibleResponse(WireError):
    """The provider, or a registry store, shows so little that its response proves nothing: not that a claim
    is gone, nor that one was never written."""

    def __str__(self) -> str:
        return self.reason


def thresholds_of(provider: Provider) -> Thresholds:
    """The limits that hold at a provider."""
    return Thresholds(
        missing_percent=provider.hold_missing_percent,
        owners_changed_percent=provider.hold_owners_changed_percent,
    )


def raise_if_implausible(provider: Provider, found: Comparison, *, place: str = "") -> None:
    """Raise ImplausibleResponse where there are reasons to hold a response. `place` is the name of the
    registry store that gave it, if it was not the provider."""
    reasons = find_reasons(found, thresholds_of(provider))
    if reasons:
        text = " ".join(reason.text for reason in reasons)
        raise ImplausibleResponse(f"The response of {place or provider.name} is implausible. {text}")


def compare_with_known(
    provider: Provider,
    shown: Counts,
    item_count: int,
    removed: Counts = NOTHING,
    *,
    compares_claims: bool = False,
    run_id: int | None = None,
) -> Comparison:
    """The numbers of a response beside the mirror's. Database read.

    `removed` is what the caller deleted in this run of a loop, `run_id`; what earlier runs deleted since the
    mirror was last true is known here. Claims are compared only where all of them are in the zone: those of
    registry stores have their own comparison.
    """
    found = _compare(provider, shown, item_count, removed, compares_claims=compares_claims)
    if not find_reasons(found, thresholds_of(provider)):
        return found
    # Read only where it matters.
    earlier = deleted_since(provider.pk, provider.accepted_at, except_run=run_id)
    texts = sum(key.record_type == "TXT" for key in earlier.keys)
    removed = removed.plus(Counts(len(earlier.keys) - texts, texts, earlier.claims))
    return _compare(provider, shown, item_count, removed, compares_claims=compares_claims)


def _compare(
    provider: Provider, shown: Counts, item_count: int, removed: Counts, *, compares_claims: bool
) -> Comparison:
    claims = provider.claim_count - removed.claims if compares_claims else 0
    known = Counts(provider.record_set_count - removed.record_sets, 0, claims)
    thresholds = thresholds_of(provider)
    if thresholds.is_too_few(shown.record_sets, known.record_sets):
        # A text that looks like an encrypted claim may be a record set of its own: where the other types are
        # all there, too few texts prove nothing.
        typed = count_typed(provider) - removed.typed
        if typed > 0 and not thresholds.is_too_few(shown.typed, typed):
            known, shown = known._replace(typed=typed), shown._replace(texts=0)
    allow_empty = provider.allow_empty and known.record_sets < thresholds.floor
    return compare_counts(known, shown, item_count, allow_empty=allow_empty)


def count_typed(provider: Provider) -> int:
    """The known record sets of other types than TXT. Database read."""
    rows = RecordSet.objects.filter(provider=provider.pk, missing_since__isnull=True)
    return rows.exclude(record_type="TXT").count()


def compare_stores(provider: Provider, snapshot: Snapshot) -> Comparison:
    """What the registry stores in a snapshot lost. Database read."""
    return Comparison(snapshot.item_count, lost_claims=find_lost_claims(provider, snapshot))


def find_lost_claims(provider: Provider, snapshot: Snapshot) -> list[LostClaims]:
    """Whose claims the registry stores in a snapshot lost since the mirror was last true. Database read."""
    return fetch_lost_claims(provider.pk, snapshot, _find_own_changes(provider), thresholds_of(provider))


def _find_own_changes(provider: Provider) -> Iterator[Collection[EndpointKey]]:
    """What transfers and loops of ours touched; read only when it is asked for, which is seldom."""
    yield touched_since(provider.pk, provider.accepted_at)
    yield deleted_since(provider.pk, provider.accepted_at).keys
