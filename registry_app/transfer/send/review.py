"""Is what the provider shows now what was reviewed? Pure.

Asked once for all items before anything is sent; one that changed makes the whole transfer stale.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from providers.registries.claim import OwnershipState
from providers.registries.labels import OWNER
from providers.wire.canonical_name import canonical_targets
from providers.wire.endpoint import Endpoint, EndpointKey, is_same_ttl
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, EndpointDict, describe_place
from registry_app.transfer.plan.item_row import ItemRow
from registry_app.transfer.send.item_plan import ItemPlan, key_of, plan_of
from registry_app.transfer.send.live_zone import (
    ExistingRecord,
    LiveFacts,
    describe_difference,
    is_as_reviewed,
)

_KIND = Transfer.Kind


def find_changed_items(
    snapshot: Snapshot, items: Iterable[ItemRow], kind: str, stores: Mapping[str, str]
) -> dict[int, str]:
    """The items that are not as reviewed, by primary key, each with what is there now.

    `stores` are the names of the registry stores.
    """
    live = LiveFacts(snapshot, stores)
    changed: dict[int, str] = {}
    removed: dict[ClaimKey, int] = {}
    rewritten: dict[ClaimKey, int] = {}
    mine: set[EndpointKey] = set()
    for item in items:
        plan = plan_of(item, kind)
        problem = _find_difference(live, item, plan, kind)
        if problem:
            changed[item.pk] = problem
        mine.add(key_of(item))
        removed.update(dict.fromkeys(plan.removed, item.pk))
        rewritten.update(dict.fromkeys(plan.written, item.pk))
    if kind != _KIND.CLEAN_UP:
        changed.update(_find_others_affected(live, mine, removed, rewritten))
    return changed


def find_record_difference(item: ItemRow | TransferItem, record: Endpoint | None) -> str:
    """What is different about the record set itself; empty if it is as reviewed."""
    reviewed = item.record_before
    if reviewed is None:
        return ""
    if record is None:
        return f"The record set {item.name} {item.record_type} is gone."
    if not _has_targets(record, reviewed["targets"]):
        return f"The record set {item.name} {item.record_type} has other targets now."
    if not is_same_ttl(record.record_ttl, reviewed["ttl"]):
        return f"The record set {item.name} {item.record_type} has another TTL now."
    if record.labels.get(OWNER, "") != reviewed.get("label_owner", ""):
        return f"The provider returns {item.name} {item.record_type} with another label owner now."
    wanted = {(name, value) for name, value in reviewed["provider_specific"]}
    if {(each.name, each.value) for each in record.provider_specific} != wanted:
        return f"The record set {item.name} {item.record_type} has other provider-specific settings now."
    return ""


def _find_difference(live: LiveFacts, item: ItemRow, plan: ItemPlan, kind: str) -> str:
    if item.name in live.snapshot.set_aside_names:
        return f"A record at {item.name} could not be read this time."
    for key, reviewed in _expected(plan).items():
        if key in live.unreliable:
            return live.unreliable[key]
        if not is_as_reviewed(live.find(key), reviewed):
            return describe_difference(key, live.find(key), reviewed, live.stores)
    if kind == _KIND.CLEAN_UP:
        return _find_deciding_claim(live, plan)
    if kind == _KIND.UNDO and item.record_before is None:  # of a clean-up: all others are about record sets
        places = [key.name for key in plan.after]
        return find_reason_not_to_restore(key_of(item), item.owner_before, places, live.records_at(item.name))
    record = live.records.get(key_of(item))
    difference = find_record_difference(item, record.endpoint if record else None)
    if difference:
        return difference
    return _find_other_owner(live, item, plan, kind)


def _find_other_owner(live: LiveFacts, item: ItemRow, plan: ItemPlan, kind: str) -> str:
    """Whether another claim decides its owner by now, although its reviewed claims all exist."""
    # The transfer that is undone changed no other claims: those that decide nothing may exist.
    more = live.places_claiming(key_of(item), are_deciding=kind == _KIND.UNDO) - set(plan.before)
    if more:
        place = describe_place(min(more), live.stores)
        return f"Another claim for {item.name} {item.record_type} appeared: {place}."
    record = live.records.get(key_of(item))
    if record is None:
        return ""
    if record.state == OwnershipState.UNKNOWN:
        return f"The owner of {item.name} {item.record_type} is unknown now."
    if kind != _KIND.UNDO and (place := live.find_ignored_claim(record, _list_ignored(item))):
        return f"Another claim for {item.name} {item.record_type} appeared: {place}."
    if kind != _KIND.UNDO and not plan.before and record.owner_id != item.owner_before:
        return f"The owner of {item.name} {item.record_type} is {record.owner_id or 'nobody'} now."
    return ""


def _list_ignored(item: ItemRow) -> set[str]:
    return set((item.record_before or {}).get("unheard", ()))


def _expected(plan: ItemPlan) -> Mapping[ClaimKey, EndpointDict | None]:
    """What must be at each place the item touches; None: nothing."""
    return {**dict.fromkeys(plan.after), **plan.before}


def _find_deciding_claim(live: LiveFacts, plan: ItemPlan) -> str:
    """Why a claim may not be removed: it decides an owner by now. Empty if none does."""
    for key, before in plan.before.items():
        kept = plan.after.get(key, {}).get("targets", ())
        for target in before["targets"]:
            decided = live.decided_by(key, target)
            if target not in kept and decided is not None:
                place = describe_place(key, live.stores)
                return f"The claim in {place} decides who owns {decided.name} {decided.record_type} now."
    return ""


def _find_others_affected(
    live: LiveFacts,
    mine: set[EndpointKey],
    removed: Mapping[ClaimKey, int],
    rewritten: Mapping[ClaimKey, int],
) -> dict[int, str]:
    """Record sets outside the transfer that one of its claims is for: their owner must not change (I11)."""
    found: dict[int, str] = {}
    touched = {**removed, **rewritten}
    claims_at: dict[int, ClaimKey] = {}
    for index, (key, claim) in enumerate(zip(live.claim_keys, live.snapshot.claims, strict=True)):
        if key is not None and key in touched and claim.owner_id:
            claims_at[index] = key
    for record in live.snapshot.records if claims_at else ():
        if record.key in mine:
            continue
        for place, index in enumerate(live.list_counting(record)):
            key = claims_at.get(index)
            # A claim that only comes second for this record set may be removed: it does not decide its owner.
            if key is None or (key in removed and place > 0) or key == ClaimKey(ZONE, *record.key):
                continue
            found[touched[key]] = (
                f"The claim in {describe_place(key, live.stores)} also covers {record.key.name} "
                f"{record.key.record_type}, which is not part of this transfer."
            )
    return found


def _has_targets(record: Endpoint, reviewed: Sequence[str]) -> bool:
    """Whether a record set has the reviewed targets, in any order and spelling."""
    if list(record.targets) == reviewed:
        return True
    return canonical_targets(record) == canonical_targets(
        msgspec.structs.replace(record, targets=tuple(reviewed))
    )


def find_reason_not_to_restore(
    claimed: EndpointKey, owner_ids: str, places: Collection[str], existing: Iterable[ExistingRecord]
) -> str:
    """Why the claims of `owner_ids` for one record set may not come back to the names in `places`, after a
    clean-up removed them; empty if they may.

    They decided nothing then. If the record set exists by now, or got another owner, they would decide, or
    conflict. `existing` are all record sets at the name. An empty record type is any type but AAAA.
    """
    for record in existing:
        is_itself = record.key.record_type == "TXT" and record.key.name in places
        is_its_own = bool(record.owner_id) and record.owner_id == owner_ids
        if is_itself or is_its_own or not _is_claimed(record, claimed):
            continue
        what = f"{record.key.name} {record.key.record_type}"
        if record.owner_id:
            return f"{what} belongs to {record.owner_id} now: a claim of {owner_ids} would be a conflict."
        return f"{what} is there now: the claim would make {owner_ids} its owner."
    return ""


def _is_claimed(record: ExistingRecord, claimed: EndpointKey) -> bool:
    """As claims are paired with record sets."""
    if claimed.set_identifier != record.key.set_identifier:
        return False
    if not claimed.record_type:
        return record.key.record_type != "AAAA"
    is_cname_of_alias = claimed.record_type == "CNAME" and record.key.record_type == "A" and record.is_alias
    return claimed.record_type == record.key.record_type or is_cname_of_alias
