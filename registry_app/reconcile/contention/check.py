"""Compute the contention of a provider again, where what it rests on changed."""

from collections import Counter
from datetime import datetime, timedelta
from time import monotonic

from django.db.models import Q

from registry_app.clock import fetch_now
from registry_app.models import Contention, ContentionCheck, GuardEndpoint, Provider
from registry_app.reconcile.contention.read_units import read_units
from registry_app.reconcile.contention.rows import Known, build_draft
from registry_app.reconcile.contention.units import Judge, find_overlap
from registry_app.reconcile.contention.wishers import Wishers, fetch_wishers
from registry_app.reconcile.findings.guarded import Overlap
from registry_app.reconcile.note_instances import note_duplicate_owners

# Of one kind at one provider; beyond them they are counted.
MOST_OF_A_KIND = 50_000
# What takes long is done the less often: at most a twentieth of the time goes into it.
_REST = 20
_BUSY_FOR = timedelta(minutes=10)


def list_providers_to_check() -> list[int]:
    """Providers with guard endpoints, and those whose last one is gone but not what it left."""
    guarded = GuardEndpoint.objects.order_by().values("provider")
    left = ContentionCheck.objects.exclude(inputs="").values("provider")
    rows = Provider.objects.filter(Q(pk__in=guarded) | Q(pk__in=left))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def check_contention(provider_id: int) -> bool:
    """Whether anything was computed: not while the mirror is being written, another worker is at it, nothing
    changed, or the last time was too short ago for what it took."""
    provider = Provider.objects.filter(pk=provider_id).first()
    if provider is None or not provider.accepted_digest:
        return False
    now = fetch_now()
    check, _ = ContentionCheck.objects.get_or_create(provider=provider)
    wishers = fetch_wishers(provider, now)
    if check.inputs == wishers.inputs or not _is_rested(check, now):
        return False
    is_free = Q(busy_until__isnull=True) | Q(busy_until__lt=now)
    same = ContentionCheck.objects.filter(is_free, pk=provider_id, computed_at=check.computed_at)
    if not same.update(busy_until=now + _BUSY_FOR):
        return False
    started = monotonic()
    left_out, overlaps = _compute(provider, wishers, check.computed_at)
    note_duplicate_owners(provider, overlaps)
    ContentionCheck.objects.filter(pk=provider_id).update(
        inputs=wishers.inputs if wishers.by_guard_endpoint else "",
        computed_at=now,
        busy_until=None,
        milliseconds=int((monotonic() - started) * 1000),
        left_out=left_out,
    )
    return True


def _is_rested(check: ContentionCheck, now: datetime) -> bool:
    rest = timedelta(milliseconds=_REST * check.milliseconds)
    return check.computed_at is None or now >= check.computed_at + rest


def _compute(
    provider: Provider, wishers: Wishers, earliest: datetime | None
) -> tuple[dict[str, int], dict[str, Overlap]]:
    known, judge = Known(provider), Judge(wishers.complete)
    overlaps: dict[str, Overlap] = {}
    counts: Counter[Contention.Kind] = Counter()
    for unit in read_units(provider, wishers):
        for found in judge.find(unit):
            counts[found.kind] += 1
            if counts[found.kind] <= MOST_OF_A_KIND:
                known.add(build_draft(provider.pk, unit, found, earliest))
        for owner_id, some in find_overlap(unit).items():
            overlaps.setdefault(owner_id, Overlap()).add(unit.name, some)
    known.finish()
    more = {kind.value: count - MOST_OF_A_KIND for kind, count in counts.items() if count > MOST_OF_A_KIND}
    return more, overlaps
