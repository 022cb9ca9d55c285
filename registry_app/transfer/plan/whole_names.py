"""What the rest of a name means for an item: its other types, and who owns them afterwards. Pure.

ExternalDNS plans by name and set identifier. An instance deletes what it owns and does not want there, but it
creates another type only where it owns every record set of its managed types that stands there. So an
instance that was given a part of a name, and wants another type at it, deletes that part and creates nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES
from providers.registries.claim import OwnershipState
from providers.wire.endpoint import EndpointKey
from registry_app.models import TransferItem
from registry_app.queries.declared import DeclaredSet
from registry_app.transfer.plan.provider_plan import PlannedItem
from registry_app.transfer.plan.subjects import RecordFacts, Subject
from registry_app.transfer.plan.verdicts import Verdict

LEFT_BEHIND = "left_behind"
_VERDICT = TransferItem.Verdict
_WHY = "ExternalDNS creates a record set only if it owns every record set at the name"
_SHOWN = 3


class NewOwner(NamedTuple):
    """Who owns an item afterwards, and what is known of the instances of it that act on the item: whether one
    of them may delete, which types they look at, and what a loop declares."""

    owner_id: str
    may_delete: bool
    managed_types: frozenset[str] = DEFAULT_MANAGED_TYPES
    declared: DeclaredSet | None = None


def find_siblings(selected: Iterable[Subject], at_names: Iterable[Subject], target: str) -> set[EndpointKey]:
    """The other types at the rows of `selected` (name and set identifier) that have the same owner."""
    picked: set[EndpointKey] = set()
    owners_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for subject in selected:
        picked.add(subject.record.key)
        if not subject.record.is_missing:
            owners_of[_row_of(subject.record.key)].update(subject.owner_ids)
    return {
        subject.record.key
        for subject in at_names
        if subject.record.key not in picked
        and _is_owned_by(subject.record, owners_of[_row_of(subject.record.key)] - {target})
    }


def judge_rows(
    items: Sequence[PlannedItem],
    standing: Iterable[RecordFacts],
    find_new_owner: Callable[[PlannedItem], NewOwner | None],
) -> tuple[PlannedItem, ...]:
    """The items with what they leave behind at their names, and the verdict that follows from it.

    `standing` are all record sets at the names of the items. `find_new_owner` answers None where an item
    gets no new owner: then nothing changes for the rest of its name.
    """
    included = {key_of_item(item) for item in items if not item.problem}
    names = {key.name for key in included}
    staying: dict[str, list[RecordFacts]] = defaultdict(list)
    for record in standing:
        if record.key.name in names and record.key not in included and not record.is_missing:
            staying[record.key.name].append(record)
    return tuple(
        item if item.problem or item.name not in staying else _judge(item, staying[item.name], find_new_owner)
        for item in items
    )


def _judge(
    item: PlannedItem,
    at_name: Sequence[RecordFacts],
    find_new_owner: Callable[[PlannedItem], NewOwner | None],
) -> PlannedItem:
    new_owner = find_new_owner(item)
    if new_owner is None:
        return item
    row = _row_of(key_of_item(item))
    in_row = [record for record in at_name if _row_of(record.key) == row]
    sources = set(item.source_owner_id.split(",")) - {new_owner.owner_id, ""}
    left_behind = tuple(record.key for record in in_row if _is_owned_by(record, sources))
    verdict = compute_row_verdict(
        Verdict(item.verdict, item.verdict_reason), key_of_item(item), new_owner, in_row, at_name
    )
    return replace(item, verdict=verdict.value, verdict_reason=verdict.reason, left_behind=left_behind)


def compute_row_verdict(
    verdict: Verdict,
    key: EndpointKey,
    new_owner: NewOwner,
    in_row: Sequence[RecordFacts],
    at_name: Sequence[RecordFacts],
) -> Verdict:
    """The verdict once it is known what stays at the name: `in_row` under the item's set identifier,
    `at_name` under any. A loop of dnsadmin looks at all of these before it creates."""
    if new_owner.declared is not None:
        return _judge_declared(verdict, key, new_owner, at_name)
    foreign = _find_foreign(in_row, new_owner.owner_id, new_owner.managed_types)
    if not foreign or not new_owner.may_delete or verdict.value == _VERDICT.NO_OP:
        return verdict
    stays = f"{_describe(foreign)} at the same name"
    does = f"deletes this and creates nothing, because {_WHY}"
    if verdict.value != _VERDICT.RETARGET:
        more = f"If {new_owner.owner_id} wants another type there, it is not created beside {stays}."
        return Verdict(verdict.value, f"{verdict.reason} {more}")
    reason = (
        f"{verdict.reason} That applies to other targets of the same type. If {new_owner.owner_id} "
        f"wants another type (a CNAME, for example), its next sync {does}: it does not own {stays}."
    )
    return Verdict(_VERDICT.NOT_REPLACED, reason)


def _judge_declared(
    verdict: Verdict, key: EndpointKey, new_owner: NewOwner, at_name: Sequence[RecordFacts]
) -> Verdict:
    declared = new_owner.declared
    if declared is None or verdict.value != _VERDICT.DELETE:
        return verdict
    foreign = _find_foreign(at_name, new_owner.owner_id, declared.managed_types)
    others = sorted(declared.managed_types - {key.record_type})
    wanted = [kind for kind in others if key._replace(record_type=kind) in declared.endpoints]
    if not foreign or not wanted:
        return verdict
    return Verdict(
        _VERDICT.NOT_REPLACED,
        f"The loop of {new_owner.owner_id} declares {', '.join(wanted)} there: its next run deletes this and "
        f"creates nothing, because it does not own {_describe(foreign)} at the same name.",
    )


def _find_foreign(
    staying: Iterable[RecordFacts], owner_id: str, managed_types: Collection[str]
) -> list[RecordFacts]:
    return [
        record
        for record in staying
        if record.key.record_type in managed_types and not _is_owned_by(record, {owner_id})
    ]


def _describe(records: Sequence[RecordFacts]) -> str:
    return " and ".join(f"the {record.key.record_type} {_whose(record)}" for record in records[:_SHOWN])


def _whose(record: RecordFacts) -> str:
    if record.state == OwnershipState.OWNED:
        return f"of {record.owner_id}"
    return "that nobody owns" if record.state == OwnershipState.UNMANAGED else "whose owner is not clear"


def _is_owned_by(record: RecordFacts, owner_ids: Collection[str]) -> bool:
    return not record.is_missing and record.state == OwnershipState.OWNED and record.owner_id in owner_ids


def _row_of(key: EndpointKey) -> tuple[str, str]:
    return key.name, key.set_identifier


def key_of_item(item: PlannedItem) -> EndpointKey:
    """The record set an item is about."""
    return EndpointKey(item.name, item.record_type, item.set_identifier)
