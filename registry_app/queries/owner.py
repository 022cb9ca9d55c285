"""How much each owner has at each provider, in one query for any number of owners."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from registry_app.models import Owner, Provider, RecordSet


@dataclass(frozen=True)
class OwnerCount:
    """Record sets of one owner at one provider (its id)."""

    provider: int
    record_sets: int


def count_by_provider(owner_pks: Sequence[int]) -> dict[int, list[OwnerCount]]:
    """The counts of these owners, by the owner's primary key; an owner with nothing is not in it."""
    counted = (
        RecordSet.objects.filter(owner__in=owner_pks)
        .values_list("owner_id", "provider_id")
        .annotate(amount=Count("id"))
        .order_by("owner_id", "provider_id")
    )
    counts: dict[int, list[OwnerCount]] = {}
    for owner_pk, provider_pk, amount in counted:
        if owner_pk is not None:
            counts.setdefault(owner_pk, []).append(OwnerCount(provider_pk, amount))
    return counts


def describe_owned(owner: Owner) -> str:
    """How much an owner owns, such as `3 record sets (2 at blue-zone, 1 at green-zone)`; empty for none."""
    counts = count_by_provider([owner.pk]).get(owner.pk, [])
    total = sum(count.record_sets for count in counts)
    if not total:
        return ""
    names = Provider.with_deleted.in_bulk([count.provider for count in counts])
    parts = ", ".join(f"{count.record_sets} at {names[count.provider]}" for count in counts)
    return f"{total} record set{'s' if total > 1 else ''} ({parts})"
