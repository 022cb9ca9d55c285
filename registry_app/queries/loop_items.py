"""What loops of ours did at a provider since the mirror was last true."""

from dataclasses import dataclass
from datetime import datetime

from providers.wire.endpoint import EndpointKey
from registry_app.models import LoopStep


@dataclass(frozen=True)
class DeletedByLoops:
    """The record sets that were deleted, and how many claims went with them."""

    keys: frozenset[EndpointKey] = frozenset()
    claims: int = 0


NOTHING_DELETED = DeletedByLoops()


def deleted_since(
    provider_id: int, since: datetime | None, *, except_run: int | None = None
) -> DeletedByLoops:
    """What loops deleted, and read back as gone, since the mirror was last true."""
    steps = LoopStep.objects.filter(
        run__provider_id=provider_id, read_back_at__isnull=False, registry_profile__isnull=True
    )
    if except_run is not None:
        steps = steps.exclude(run=except_run)
    if since is not None:
        steps = steps.filter(read_back_at__gte=since)
    gone = [
        item
        for items in steps.order_by("pk").values_list("items", flat=True).iterator()
        for item in items
        if item["action"] == "delete" and item["outcome"] == "verified"
    ]
    keys = frozenset(EndpointKey(item["name"], item["record_type"], item["set_identifier"]) for item in gone)
    return DeletedByLoops(keys, sum(len(item["claims"]) for item in gone))
