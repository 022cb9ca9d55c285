"""Which deletes wait for a person (rule G10)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Sum

from registry_app.guard.unit import Judged, Refusal, Unit, UnitKey
from registry_app.models import (
    GuardEndpoint,
    GuardRule,
    GuardStep,
    HeldDelete,
    OwnershipState,
    RecordSet,
    StepStatus,
)
from registry_app.queries.guard_endpoint import find_desired_set
from registry_app.queries.hand_over import find_next_owners

# Below these, a share says nothing.
_LEAST_FOR_SHARE = 10
_LEAST_FOR_ALL = 2
_ROWS = 500


@dataclass(frozen=True)
class DeleteLimits:
    """What is known of an instance when it asks to delete. `before` counts what it deleted and retargeted
    within the window; `next_owners` are those that names are being handed over to; `count_owned` counts the
    record sets its owner has, where that is needed."""

    is_first: bool
    wants_nothing: bool
    before: int
    next_owners: Mapping[str, str]
    count_owned: Callable[[], int]
    percent: int
    most: int


def find_holds(
    judged: Judged, limits: DeleteLimits, rows: Mapping[UnitKey, HeldDelete]
) -> dict[UnitKey, Refusal]:
    """The units that wait. `rows` are earlier ones for the units, of any status. Pure."""
    deleting = {key: judged.units[key] for key in judged.passing if judged.units[key].is_delete}
    holds = {
        key: Refusal(GuardRule(rows[key].rule), rows[key].reason)
        for key in deleting
        if key in rows and rows[key].status in HeldDelete.STOPPING
    }
    for key in deleting.keys() - holds.keys():
        if key[0] in limits.next_owners:
            text = f"The name is being handed over to {limits.next_owners[key[0]]}."
            holds[key] = Refusal(GuardRule.HAND_OVER, text)
    new = {
        key: unit
        for key, unit in deleting.items()
        if key not in holds
        and not (key in rows and rows[key].status in (*HeldDelete.STOPPING, HeldDelete.Status.RELEASED))
    }
    if new:
        retargets = sum(count_retargets(judged.units[key]) for key in judged.passing)
        reason = _find_reason(sum(map(count_deletes, new.values())), retargets, limits)
        if reason is not None:
            holds |= dict.fromkeys(new, reason)
    return holds


def _find_reason(deletes: int, retargets: int, limits: DeleteLimits) -> Refusal | None:
    if limits.is_first:
        return Refusal(GuardRule.FIRST_CONTACT, "The first change set of a guard endpoint deletes nothing.")
    if limits.wants_nothing:
        return Refusal(GuardRule.EMPTY_SET, "The instance wanted nothing when it asked for this.")
    total, owned = deletes + retargets + limits.before, limits.count_owned()
    if deletes >= owned >= _LEAST_FOR_ALL:
        return Refusal(GuardRule.DELETE_ALL, f"It would delete all {owned} record sets of its owner.")
    if owned >= _LEAST_FOR_SHARE and total * 100 > limits.percent * owned:
        changed = f"{total} of the {owned} record sets of its owner"
        text = f"It would have deleted or retargeted {changed} within a short time."
        return Refusal(GuardRule.DELETE_SHARE, text)
    if total > limits.most:
        text = f"It would have deleted or retargeted {total} record sets within a short time."
        return Refusal(GuardRule.DELETE_COUNT, text)
    return None


def count_deletes(unit: Unit) -> int:
    """How many record sets a unit takes away, if it is a delete."""
    return sum(each.new is None for each in unit.changes) if unit.is_delete else 0


def count_retargets(unit: Unit) -> int:
    """How many record sets of a unit change their targets."""
    return sum(each.is_retarget for each in unit.changes)


def fetch_limits(endpoint: GuardEndpoint, names: Collection[str], now: datetime) -> DeleteLimits:
    """What is known when these names are to be changed. Database read."""
    desired = find_desired_set(endpoint)
    since = now - timedelta(seconds=endpoint.window_seconds)
    sent = GuardStep.objects.filter(guard_endpoint=endpoint, stored_at__gte=since)
    counted = sent.exclude(status=StepStatus.NOT_SENT).aggregate(total=Sum(F("deletes") + F("retargets")))

    def count_owned() -> int:
        rows = RecordSet.objects.filter(provider=endpoint.provider_id, owner=endpoint.instance.owner_id)
        return rows.filter(state=OwnershipState.OWNED, missing_since__isnull=True).count()

    return DeleteLimits(
        is_first=endpoint.first_changes_at is None or endpoint.provider.accepted_at is None,
        wants_nothing=desired is not None and desired.seen_count > 0 and not desired.endpoint_count,
        before=counted["total"] or 0,
        next_owners=find_next_owners(endpoint.provider_id, endpoint.instance.owner_id, names),
        count_owned=count_owned,
        percent=endpoint.delete_percent,
        most=endpoint.most_deletes,
    )


def fetch_held(endpoint: GuardEndpoint, names: Collection[str]) -> dict[UnitKey, HeldDelete]:
    """What is known of deletes at these names. Database read."""
    ordered, found = sorted(names), []
    for start in range(0, len(ordered), _ROWS):
        rows = HeldDelete.objects.filter(guard_endpoint=endpoint, name__in=ordered[start : start + _ROWS])
        found += list(rows)
    return {(row.name, row.set_identifier): row for row in found}


def store_held(
    endpoint: GuardEndpoint,
    judged: Judged,
    holds: Mapping[UnitKey, Refusal],
    rows: Mapping[UnitKey, HeldDelete],
    now: datetime,
) -> None:
    """Keep what waits now. Inside the caller's transaction; by compare-and-swap with a person's decision."""
    made = []
    for key, hold in holds.items():
        types = sorted({each.key.record_type for each in judged.units[key].changes if each.new is None})
        row = rows.get(key)
        values = {"record_types": types, "rule": hold.rule, "reason": hold.reason, "asked_at": now}
        if row is None:
            name, set_identifier = key
            row_key = {"guard_endpoint": endpoint, "name": name, "set_identifier": set_identifier}
            made.append(HeldDelete(**row_key, **values, last_asked_at=now))
            continue
        same = HeldDelete.objects.filter(pk=row.pk, status=row.status)
        if row.status in HeldDelete.STOPPING:
            same.update(last_asked_at=now, count=F("count") + 1)
        else:
            same.update(
                **values,
                status=HeldDelete.Status.HELD,
                last_asked_at=now,
                count=1,
                decided_by="",
                decided_at=None,
                decision_reason="",
            )
    HeldDelete.objects.bulk_create(made, batch_size=_ROWS, ignore_conflicts=True)


def end_held(endpoint: GuardEndpoint, units: Iterable[UnitKey], status: HeldDelete.Status) -> None:
    """The deletes of these units are over: done, or wanted again."""
    for name, set_identifier in units:
        HeldDelete.objects.filter(guard_endpoint=endpoint, name=name, set_identifier=set_identifier).update(
            status=status
        )
