"""Rows that were written before their record sets, and never settled: the change was not seen to be made."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from registry_app.clock import fetch_now
from registry_app.database_claims import renew_version
from registry_app.models import DatabaseClaim, OwnershipState, Provider, RecordSet

# An instance asks again at its next sync, which settles them. A provider may be late.
_AFTER = timedelta(hours=1)
_GONE_AFTER = timedelta(hours=24)
_MOST = 5_000


def settle_left_intents() -> int:
    """Make claims of the intents whose record sets the mirror shows as their owner's, and remove those that
    did not come true within a day; how many. Those of a provider that was not read since wait."""
    now = fetch_now()
    left = DatabaseClaim.objects.filter(meant_targets__isnull=False, changed_at__lt=now - _AFTER)
    profiles = left.order_by().values_list("registry_profile", flat=True).distinct()
    return sum(_settle(pk, left.filter(registry_profile=pk), now - _GONE_AFTER) for pk in list(profiles))


def _settle(profile_id: int, left: QuerySet[DatabaseClaim], gone_before: datetime) -> int:
    providers = Provider.objects.filter(registry_profiles=profile_id)
    same = Q(
        name=OuterRef("name"),
        record_type=OuterRef("record_type"),
        set_identifier=OuterRef("set_identifier"),
        owner__owner_id=OuterRef("owner_id"),
    )
    owned = RecordSet.objects.filter(
        same, provider__in=providers, state=OwnershipState.OWNED, missing_since__isnull=True
    )
    read_since = providers.filter(accepted_at__gt=OuterRef("changed_at"))
    known = left.filter(Exists(read_since)).annotate(is_made=Exists(owned))
    made = list(known.filter(is_made=True).values_list("pk", "changed_at")[:_MOST])
    gone = list(
        known.filter(is_made=False, changed_at__lt=gone_before).values_list("pk", "changed_at")[:_MOST]
    )
    if not (made or gone):
        return 0
    with transaction.atomic():
        renew_version(profile_id)
        return sum(rows.update(meant_targets=None) for rows in _list_unchanged(made)) + sum(
            rows.delete()[0] for rows in _list_unchanged(gone)
        )


def _list_unchanged(found: Sequence[tuple[int, datetime]]) -> list[QuerySet[DatabaseClaim]]:
    """The rows as they were found, few at a time: what was written anew since is left to its writer."""
    times: dict[datetime, list[int]] = {}
    for pk, changed_at in found:
        times.setdefault(changed_at, []).append(pk)
    rows = DatabaseClaim.objects.filter(meant_targets__isnull=False)
    return [rows.filter(pk__among=pks, changed_at=changed_at) for changed_at, pks in times.items()]
