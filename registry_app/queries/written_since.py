"""What loops and the guard wrote at a provider, so that history names them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from providers.wire.endpoint import EndpointKey
from registry_app.models import UNSETTLED, GuardStep, LoopStep, Step

# A provider may adjust what it takes: then it shows neither the old value nor the new one.
_ARRIVED = ("verified", "other")
_AnyStep = TypeVar("_AnyStep", bound=Step)


@dataclass(frozen=True)
class Written:
    """By record set: the slug of the guard endpoint that sent its last change, and the loop run that did."""

    guard_endpoints: Mapping[EndpointKey, str] = field(default_factory=dict)
    loop_runs: Mapping[EndpointKey, int] = field(default_factory=dict)


NOTHING_WRITTEN = Written()


def written_since(provider_id: int, since: datetime | None) -> Written:
    """What was read back since then and is not as it was before, or was sent and not read back."""
    guard = _select_since(GuardStep.objects.filter(provider_id=provider_id), since)
    loops = _select_since(LoopStep.objects.filter(run__provider_id=provider_id), since)
    return Written(
        guard_endpoints=_key_by_record(guard.values_list("slug", "status", "items").iterator()),
        loop_runs=_key_by_record(loops.values_list("run_id", "status", "items").iterator()),
    )


def _select_since(steps: QuerySet[_AnyStep], since: datetime | None) -> QuerySet[_AnyStep]:
    is_recent = Q(read_back_at__isnull=False)
    if since is not None:
        is_recent &= Q(read_back_at__gte=since)
    # Of what is not read back, nobody knows whether it arrived: it may be what the provider shows.
    steps = steps.filter(is_recent | Q(status__in=UNSETTLED), registry_profile__isnull=True)
    return steps.order_by("pk")


_Writer = TypeVar("_Writer", str, int)


def _key_by_record(steps: Iterable[tuple[_Writer, str, list[dict[str, Any]]]]) -> dict[EndpointKey, _Writer]:
    return {
        EndpointKey(item["name"], item["record_type"], item["set_identifier"]): writer
        for writer, status, items in steps
        for item in items
        if item["outcome"] in _ARRIVED or status in UNSETTLED
    }
