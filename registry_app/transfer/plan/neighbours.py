"""What the other record sets at a name mean for an item: other types, shared TXT records, open transfers.

ExternalDNS plans by name and set identifier. An instance deletes what it owns and does not want there, but it
creates another type only if it owns every record set of its managed types at the name. So an instance that
was given a part of a name, and wants another type at it, deletes that part and creates nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from django.db.models import Q

from providers.registries.claim import OwnershipState
from providers.wire.endpoint import EndpointKey
from registry_app.models import Provider, Transfer, TransferItem
from registry_app.transfer.plan.claim_key import ClaimKey, EndpointDict
from registry_app.transfer.plan.provider_plan import (
    PlannedItem,
    changes_of,
)
from registry_app.transfer.plan.subjects import RecordFacts, Subject
from registry_app.transfer.plan.verdicts import NewOwner
from registry_app.transfer.plan.verdicts_by_facts import Verdict
from registry_app.transfer.transfer_row import compute_lock_key, name_transfer

_CHUNK = 500
LEFT_BEHIND = "left_behind"
_VERDICT = TransferItem.Verdict
_STAYS = (_VERDICT.NO_OP, _VERDICT.KEPT)
_WHY = "ExternalDNS creates a record set only if it owns every record set at the name"
_SHOWN = 3


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


def add_neighbour_verdicts(
    items: Sequence[PlannedItem],
    existing: Iterable[RecordFacts],
    find_new_owner: Callable[[PlannedItem], NewOwner | None],
) -> tuple[PlannedItem, ...]:
    """The items with the record sets that they leave behind at their names, and the verdict with these.

    `existing` are all record sets at the names of the items. `find_new_owner` returns None if an item
    gets no new owner: then nothing changes for the rest of its name.
    """
    included = {item.key for item in items if not item.problem}
    names = {key.name for key in included}
    staying: dict[str, list[RecordFacts]] = defaultdict(list)
    for record in existing:
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
    row = _row_of(item.key)
    same_identifier = [record for record in at_name if _row_of(record.key) == row]
    sources = set(item.source_owner_id.split(",")) - {new_owner.owner_id, ""}
    left_behind = tuple(record.key for record in same_identifier if _is_owned_by(record, sources))
    verdict = _compute_name_verdict(
        Verdict(item.verdict, item.verdict_reason), item.key, new_owner, same_identifier, at_name
    )
    return replace(item, verdict=verdict.value, verdict_reason=verdict.reason, left_behind=left_behind)


def _compute_name_verdict(
    verdict: Verdict,
    key: EndpointKey,
    new_owner: NewOwner,
    same_identifier: Sequence[RecordFacts],
    at_name: Sequence[RecordFacts],
) -> Verdict:
    """The verdict with what stays at the name: `same_identifier` under the item's set identifier,
    `at_name` under any. A loop of dnsadmin checks all of these before it creates."""
    if new_owner.declared is not None:
        return _judge_declared(verdict, key, new_owner, at_name)
    foreign = _find_foreign(same_identifier, new_owner.owner_id, new_owner.managed_types)
    if not foreign or not new_owner.may_delete or verdict.value in _STAYS:
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


def leave_out_shared(items: Sequence[PlannedItem], neighbours: Iterable[Subject]) -> tuple[PlannedItem, ...]:
    """Leave out every item whose TXT record also covers a record set that is not part of the plan.

    A legacy claim is for all types at its name: rewriting it for one would move the others, too.
    `neighbours` are all record sets at the names of the items, the items' own included.
    """
    result = _leave_out_disagreeing(items)
    covered = _find_covered(neighbours)
    count = -1
    while count != (count := sum(1 for item in result if not item.problem)):
        included = {item.key for item in result if not item.problem}
        result = [item if item.problem else _check_shared(item, included, covered) for item in result]
    return tuple(result)


def _leave_out_disagreeing(items: Sequence[PlannedItem]) -> list[PlannedItem]:
    wanted: dict[ClaimKey, EndpointDict | None] = {}
    disagreeing: set[ClaimKey] = set()
    for item in items:
        for key, endpoint in changes_of(item).items():
            if key in wanted and wanted[key] != endpoint:
                disagreeing.add(key)
            wanted[key] = endpoint
    if not disagreeing:
        return list(items)
    return [_left_out_if_disagreeing(item, disagreeing) for item in items]


def _left_out_if_disagreeing(item: PlannedItem, disagreeing: set[ClaimKey]) -> PlannedItem:
    mine = disagreeing.intersection(changes_of(item))
    if not mine or item.problem:
        return item
    problem = (
        f"Two record sets share the TXT record {min(mine).name}, and each would need another one: "
        "re-format them first."
    )
    return replace(item, problem=problem, problem_code="entangled_claims")


def _find_covered(neighbours: Iterable[Subject]) -> dict[ClaimKey, list[tuple[EndpointKey, bool]]]:
    """For each place of a claim the record sets it is for, and whether it is the one that decides there."""
    covered: dict[ClaimKey, list[tuple[EndpointKey, bool]]] = defaultdict(list)
    for subject in neighbours:
        if subject.record.is_missing:
            continue
        readable = subject.readable
        for place in dict.fromkeys(claim.place for claim in readable):
            covered[place].append((subject.record.key, readable[0].place == place))
    return covered


def _check_shared(
    item: PlannedItem,
    included: set[EndpointKey],
    covered: Mapping[ClaimKey, Sequence[tuple[EndpointKey, bool]]],
) -> PlannedItem:
    for txt, endpoint in changes_of(item).items():
        for key, decides in covered.get(txt, ()):
            if key in included or (endpoint is None and not decides):
                continue
            problem = (
                f"Its claim at {txt.name} also covers {key.name} {key.record_type}, which is not "
                "selected: select both, or re-format them first so that each has its own claim."
            )
            return replace(item, problem=problem, problem_code="shared_claim")
    return item


def leave_out_locked(provider: Provider, items: tuple[PlannedItem, ...]) -> tuple[PlannedItem, ...]:
    """Leave out the items whose names are part of an open transfer."""
    is_open = Q(transfer__provider=provider, transfer__status__in=Transfer.OPEN_STATUSES)
    if not TransferItem.objects.filter(is_open).exists():
        return items
    keys = {compute_lock_key(provider.pk, item.name): item.name for item in items if not item.problem}
    ordered = sorted(keys)
    locked: dict[str, str] = {}
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        rows = (
            TransferItem.objects.filter(lock_key__in=chunk)
            .select_related("transfer")
            .only("lock_key", "transfer__public_id", "transfer__kind")
        )
        locked.update({keys[row.lock_key]: name_transfer(row.transfer) for row in rows if row.lock_key})
    return tuple(
        replace(
            item,
            problem=f"Its name is part of another open transfer: {locked[item.name]}.",
            problem_code="in_open_transfer",
        )
        if not item.problem and item.name in locked
        else item
        for item in items
    )
