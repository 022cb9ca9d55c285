"""Plans in one word: a zone, what is wanted, and who plans."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from providers.backends.memory import MemoryBackend
from providers.planning.claim_changes import Batch, build_change_set
from providers.planning.plan import PlanSettings, compute_plan
from providers.planning.planned_changes import PlannedChanges
from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.labels import RESOURCE
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

BLUE, GREEN = "blue-cluster", "green-cluster"
SETTINGS = PlanSettings(owner_id=BLUE)
PROFILES = (DEFAULT_PROFILE, TxtProfile(prefix="x."))


def wanted(
    name: str,
    record_type: str = "A",
    targets: Sequence[str] = ("192.0.2.1",),
    *,
    ttl: int = 0,
    resource: str = "",
    set_identifier: str = "",
    properties: Sequence[tuple[str, str]] = (),
) -> Endpoint:
    """An endpoint as a source gives it."""
    return Endpoint(
        dns_name=name,
        targets=tuple(targets),
        record_type=record_type,
        set_identifier=set_identifier,
        record_ttl=ttl,
        labels={RESOURCE: resource} if resource else {},
        provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in properties),
    )


def plan(zone: Sequence[Endpoint], desired: Sequence[Endpoint], **values: Any) -> PlannedChanges:
    """The plan of blue-cluster, or as `values` say."""
    return compute_plan(desired, pair(zone, PROFILES), replace(SETTINGS, **values))


def batch(
    zone: Sequence[Endpoint],
    desired: Sequence[Endpoint],
    profile: TxtProfile = DEFAULT_PROFILE,
    **values: Any,
) -> Batch:
    """The change set of the same plan, claims included."""
    settings, current = replace(SETTINGS, **values), pair(zone, [profile])
    return build_change_set(compute_plan(desired, current, settings), current, profile, settings)


def apply(
    zone: Sequence[Endpoint],
    desired: Sequence[Endpoint],
    profile: TxtProfile = DEFAULT_PROFILE,
    **values: Any,
) -> list[Endpoint]:
    """The zone after one loop, made by a backend that compares every old value."""
    backend = MemoryBackend(zone)
    change_set = batch(zone, desired, profile, **values).change_set
    if not change_set.is_empty():
        backend.apply(change_set)
    return list(backend.contents())


def reasons(planned: PlannedChanges) -> dict[str, str]:
    """Why what was left alone was left alone, by name and type."""
    return {f"{each.key.name} {each.key.record_type}": each.reason for each in planned.left_alone}
