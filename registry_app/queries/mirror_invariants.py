"""I1, I2, I4, I7, I14, I20 and I25, as far as the rows of the mirror and its syncs show them."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Count, F, Q

from registry_app.clock import fetch_now
from registry_app.models import OwnershipState, Provider, RecordSet, SyncRun
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of
from registry_app.queries.kept_count import find_wrong_counts

_LATE_AFTER_INTERVALS = 2


def find_double_states() -> Violation | None:
    """I1. The database has constraints for both; a restored or edited database may have lost them."""
    is_owned = Q(state=OwnershipState.OWNED)
    has_owner = Q(owner__isnull=False)
    torn = RecordSet.objects.filter((is_owned & ~has_owner) | (~is_owned & has_owner))
    unknown = RecordSet.objects.exclude(state__in=OwnershipState.values)
    doubled = (
        RecordSet.objects.values("provider", "name", "record_type", "set_identifier")
        .annotate(copies=Count("id"))
        .filter(copies__gt=1)
        .order_by()
    )
    keys = [f"{row['name']} {row['record_type']} {row['set_identifier']}".strip() for row in doubled[:20]]
    return first_of(
        violation_of(torn, "A record set has an owner without being owned, or is owned and has no owner."),
        violation_of(unknown, "A record set is in no known state."),
        Violation(len(keys), tuple(keys), "A record set has two rows.") if keys else None,
    )


def find_unexplained_mirrors() -> Violation | None:
    """I2. A provider without an accepted snapshot has no record sets."""
    never = Provider.objects.filter(accepted_snapshots=0, accepted_at__isnull=True)
    rows = RecordSet.objects.filter(provider__in=never)
    return violation_of(rows, "A record set is in the mirror of a provider that was never read.")


def find_half_missing() -> Violation | None:
    """I4. A missing record set has a missing time and a count of snapshots; others have neither."""
    rows = RecordSet.objects.filter(
        Q(missing_since__isnull=False, missing_snapshots=0)
        | Q(missing_since__isnull=True, missing_snapshots__gt=0)
    )
    return violation_of(rows, "The missing time and the missing count of a record set do not agree.")


def find_abandoned_syncs() -> Violation | None:
    """I7. A sync that runs for two lease times was not picked up."""
    before = fetch_now() - 2 * settings.DNSADMIN_LEASE
    live = Provider.objects.filter(lease_until__gt=fetch_now())
    rows = SyncRun.objects.filter(status=SyncRun.Status.RUNNING, started_at__lt=before).exclude(
        provider__in=live, epoch=F("provider__lease_epoch")
    )
    noted = Provider.objects.filter(sync_started_at__lt=before).exclude(
        lease_until__gt=fetch_now(), sync_epoch=F("lease_epoch")
    )
    return first_of(
        violation_of(
            rows, "A sync has the status running, and no worker holds its lease. Is the scheduler running?"
        ),
        violation_of(
            noted, "A sync runs at a provider, and no worker holds its lease. Is the scheduler running?"
        ),
    )


def find_double_leases() -> Violation | None:
    """I14. Two syncs that run at one provider, or one under a lease that was never given."""
    running = SyncRun.objects.filter(status=SyncRun.Status.RUNNING)
    same_epoch = (
        running.values("provider", "epoch").annotate(copies=Count("id")).filter(copies__gt=1).order_by()
    )
    providers = tuple(f"provider {row['provider']}" for row in same_epoch[:20])
    beside = running.filter(epoch=F("provider__sync_epoch"))
    noted = Provider.objects.filter(sync_epoch__gt=F("lease_epoch"))
    ahead = SyncRun.objects.filter(epoch__gt=F("provider__lease_epoch"))
    return first_of(
        Violation(len(providers), providers, "Two syncs run under one lease.") if providers else None,
        violation_of(beside, "Two syncs run under one lease."),
        violation_of(ahead, "A sync ran under a lease that was never given."),
        violation_of(noted, "A sync runs under a lease that was never given."),
    )


def find_late_providers() -> Violation | None:
    """I20. A provider nobody has synced, failing or not, long after it was due."""
    now = fetch_now()
    due = Provider.objects.filter(is_enabled=True, next_sync_at__lt=now).only(
        "id", "next_sync_at", "interval_seconds", "lease_until"
    )
    late = [
        provider.pk
        for provider in due
        if provider.next_sync_at is not None
        and now - provider.next_sync_at > _allowed(provider)
        and (provider.lease_until is None or provider.lease_until < now)
    ]
    rows = Provider.objects.filter(pk__in=late)
    return violation_of(
        rows, "A provider was due long ago and is not synced. Are worker and scheduler running?"
    )


def _allowed(provider: Provider) -> timedelta:
    return timedelta(seconds=_LATE_AFTER_INTERVALS * provider.interval_seconds) + settings.DNSADMIN_LEASE


MIRROR_INVARIANTS = (
    Invariant("I1", "one row and one ownership state for each mirror key", find_double_states),
    Invariant("I2", "the mirror comes from accepted snapshots", find_unexplained_mirrors),
    Invariant("I4", "missing is not deleted", find_half_missing),
    Invariant("I7", "every unfinished sync is picked up", find_abandoned_syncs),
    Invariant("I14", "at most one run holds the lease of a provider", find_double_leases),
    Invariant("I20", "every provider is synced when it is due", find_late_providers),
    Invariant("I25", "the counts that pages show are those of the rows", find_wrong_counts),
)
