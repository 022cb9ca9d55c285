"""Findings about owner ids that several instances share without being replicas of one another."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from providers.wire.endpoint import EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.queries.instance import InstanceFacts, leave_out_loop_settings
from registry_app.queries.record_event import ABSENT, PastValue
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, name_record
from registry_app.reconcile.findings.scene import FLAPPING_CHANGES, Scene
from registry_app.reconcile.rows.bulk import plain_text
from registry_app.reconcile.rows.comparison import resource_of

_NAMED = 5
# The entry of a filter without entries.
_EVERYTHING = ""
_WHAT_TO_DO = (
    "Transfer the record sets of each instance to a new owner id and give it that --txt-owner-id. Or "
    "give each instance a --domain-filter that excludes what the others manage."
)


def find_instances_at_odds(scene: Scene) -> Iterator[FindingDraft]:
    """Owner ids whose registered instances act on the same names here and do not want the same."""
    for owner_id, facts in sorted(scene.owners.items()):
        shared = _select_at_odds(leave_out_loop_settings(facts.instances, scene.provider_id))
        # An instance without a registered provider writes here only if it owns something here.
        is_here = owner_id in scene.facts.record_sets_by_owner or any(
            each.provider_id == scene.provider_id for each in shared
        )
        if shared and is_here:
            names = [each.name for each in shared]
            yield FindingDraft(
                kind=Kind.SHARED_OWNER,
                severity=Severity.WARNING,
                subject=f"{owner_id}\0instances",
                explanation=(
                    f"{len(names)} instances of {owner_id} act on the same names at "
                    f"{scene.provider_name} and are no replicas of one another: {_list(names)}. Each "
                    "instance treats the record sets of the others as its own: it changes them to "
                    "what it wants, and with policy sync deletes what it does not want. "
                    f"{_WHAT_TO_DO} Delete the instances that do not run."
                ),
                owner_id=owner_id,
                details={"instances": len(names), "names": names[:_NAMED]},
            )


def find_values_to_and_fro(scene: Scene) -> Iterator[FindingDraft]:
    """Owner ids whose record sets change between two values, or come and go: one writer undoes the other."""
    by_owner: dict[str, list[str]] = {}
    for key, past in sorted(scene.histories.items()):
        if key.name in scene.snapshot.set_aside_names:
            continue  # what it holds now is not known
        owner_id = _find_owner_of_two(past, _read_current(scene.snapshot, key))
        if owner_id:
            by_owner.setdefault(owner_id, []).append(name_record(key))
    for owner_id, names in sorted(by_owner.items()):
        count = f"{len(names)} record set{'' if len(names) == 1 else 's'}"
        yield FindingDraft(
            kind=Kind.SHARED_OWNER,
            severity=Severity.ERROR,
            subject=f"{owner_id}\0values",
            explanation=(
                f"{count} of {owner_id} at {scene.provider_name} alternated between two values at "
                f"least {FLAPPING_CHANGES} times within an hour, and stayed with their owner: "
                f"{_list(names)}. Most likely two instances that are no replicas share the owner id. "
                f"{_WHAT_TO_DO}"
            ),
            owner_id=owner_id,
            details={"record_sets": len(names), "names": names[:_NAMED]},
        )


def _select_at_odds(instances: Sequence[InstanceFacts]) -> list[InstanceFacts]:
    """Those that share names and types with another one that is no replica of theirs. Of hundreds with
    filters of their own few are held against each other: only where an entry lies below another's."""
    holders: dict[str, list[int]] = {}
    for number, each in enumerate(instances):
        for entry in each.domain_include or (_EVERYTHING,):
            holders.setdefault(entry.removeprefix("."), []).append(number)
    found: set[int] = set()
    for number, each in enumerate(instances):
        for other in {other for name in _list_above(each.domain_include) for other in holders.get(name, ())}:
            pair = {number, other}
            if len(pair) == 2 and not pair <= found and _are_at_odds(each, instances[other]):
                found |= pair
    return [instances[number] for number in sorted(found)]


def _are_at_odds(one: InstanceFacts, other: InstanceFacts) -> bool:
    is_apart = one.is_replica_of(other) or not one.shares_types_with(other)
    return not is_apart and one.domain_filter.overlaps(other.domain_filter)


def _list_above(entries: Sequence[str]) -> set[str]:
    """The names at and above the entries of a filter, and the one that holds everything."""
    names = {_EVERYTHING}
    for entry in entries:
        labels = entry.removeprefix(".").split(".")
        names.update(".".join(labels[place:]) for place in range(len(labels)))
    return names


def _find_owner_of_two(past: Sequence[PastValue], now: PastValue) -> str:
    """The only owner of a record set that had two values in turn, often enough; empty if it is none such."""
    values = past if past[-1] == now else (*past, now)
    if len(values) <= FLAPPING_CHANGES or len(set(values)) != 2:
        return ""
    owner_ids = {value.owner_id for value in values if value != ABSENT}
    return owner_ids.pop() if len(owner_ids) == 1 else ""


def _read_current(snapshot: Snapshot, key: EndpointKey) -> PastValue:
    place = bisect_left(snapshot.records, key, key=attrgetter("key"))
    record = snapshot.records[place] if place < len(snapshot.records) else None
    if record is None or record.key != key:
        return ABSENT
    targets = tuple(sorted(set(record.endpoint.targets)))
    resource = plain_text(resource_of(snapshot, record))
    return PastValue(targets, record.endpoint.record_ttl, resource, record.owner_id)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
