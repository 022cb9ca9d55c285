"""What loops and the guard deleted, so that it is not taken for lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.wire.endpoint import EndpointKey
from registry_app.models import GuardStep, LoopStep


@dataclass(frozen=True)
class Deleted:
    """The record sets that were deleted, and how many claims went with them."""

    keys: frozenset[EndpointKey] = frozenset()
    claims: int = 0


NOTHING_DELETED = Deleted()


def deleted_since(provider_id: int, since: datetime | None, *, except_run: int | None = None) -> Deleted:
    """What loops and the guard deleted, and read back as gone, since the mirror was last true."""
    loops = [item for item in _list_of_loops(provider_id, since, except_run) if _is_gone(item)]
    guard = [item for item in _list_of_guard(provider_id, since) if _is_gone(item)]
    records = [*loops, *(item for item in guard if not item["is_claim"])]
    keys = frozenset(
        EndpointKey(item["name"], item["record_type"], item["set_identifier"]) for item in records
    )
    claims = sum(len(item["claims"]) for item in loops) + sum(item["is_claim"] for item in guard)
    return Deleted(keys, claims)


def _is_gone(item: dict[str, Any]) -> bool:
    return bool(item["action"] == "delete" and item["outcome"] == "verified")


def _list_of_loops(
    provider_id: int, since: datetime | None, except_run: int | None
) -> Iterator[dict[str, Any]]:
    steps = LoopStep.objects.filter(
        run__provider_id=provider_id, read_back_at__isnull=False, registry_profile__isnull=True
    )
    if except_run is not None:
        steps = steps.exclude(run=except_run)
    if since is not None:
        steps = steps.filter(read_back_at__gte=since)
    for items in steps.order_by("pk").values_list("items", flat=True).iterator():
        yield from items


def _list_of_guard(provider_id: int, since: datetime | None) -> Iterator[dict[str, Any]]:
    steps = GuardStep.objects.filter(provider_id=provider_id, read_back_at__isnull=False)
    if since is not None:
        steps = steps.filter(read_back_at__gte=since)
    for items in steps.order_by("pk").values_list("items", flat=True).iterator():
        yield from items
