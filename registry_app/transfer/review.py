"""Is what the provider shows now what was reviewed? Pure.

Asked once for all items before anything is sent; one that moved makes the whole transfer stale.
"""

from collections.abc import Iterable, Mapping

from providers.registries.claim import OwnershipState
from providers.wire.canonical_name import InvalidName, canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.change_sets import ItemPlan, build_item_plan, describe_moved, is_as_reviewed
from registry_app.transfer.provider_plan import EndpointDict
from registry_app.transfer.subjects import TxtKey

_KIND = Transfer.Kind


def find_moved_items(snapshot: Snapshot, items: Iterable[TransferItem], kind: str) -> dict[int, str]:
    """The items that are not as reviewed, by primary key, each with what stands there now."""
    live = _LiveFacts(snapshot)
    moved: dict[int, str] = {}
    removed: dict[TxtKey, int] = {}
    rewritten: dict[TxtKey, int] = {}
    mine: set[EndpointKey] = set()
    for item in items:
        plan = plan_of(item, kind)
        problem = _find_difference(live, item, plan, kind)
        if problem:
            moved[item.pk] = problem
        mine.add(key_of(item))
        removed.update(dict.fromkeys(plan.removed, item.pk))
        rewritten.update(dict.fromkeys(plan.written, item.pk))
    if kind != _KIND.CLEAN_UP:
        moved.update(_find_bystanders(live, mine, removed, rewritten))
    return moved


def plan_of(item: TransferItem, kind: str) -> ItemPlan:
    """The reviewed TXT endpoints of a stored item."""
    return build_item_plan(item.before, item.after, is_exact=kind == _KIND.UNDO)


def key_of(item: TransferItem) -> EndpointKey:
    return EndpointKey(item.name, item.record_type, item.set_identifier)


def find_record_difference(item: TransferItem, record: Endpoint | None) -> str:
    """What is different about the record set itself; empty if it is as reviewed."""
    reviewed = item.record_before
    if reviewed is None:
        return ""
    if record is None:
        return f"The record set {item.name} {item.record_type} is gone."
    if canonical_targets(record) != canonical_targets(_reviewed_endpoint(item, reviewed)):
        return f"The record set {item.name} {item.record_type} has other targets now."
    if record.record_ttl != reviewed["ttl"]:
        return f"The record set {item.name} {item.record_type} has another TTL now."
    wanted = {(name, value) for name, value in reviewed["provider_specific"]}
    if {(each.name, each.value) for each in record.provider_specific} != wanted:
        return f"The record set {item.name} {item.record_type} has other provider-specific settings now."
    return ""


class _LiveFacts:
    """A snapshot, ready to be asked by identity."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.records = {record.key: record for record in snapshot.records}
        self._txts: dict[TxtKey, Endpoint] = {}
        self.ambiguous: set[TxtKey] = set()
        for claim in snapshot.claims:
            key = _txt_key(claim.endpoint)
            if key is None:
                continue
            if self._txts.setdefault(key, claim.endpoint) != claim.endpoint:
                self.ambiguous.add(key)
        self._decided: dict[tuple[TxtKey | None, str], EndpointKey] = {}
        for record in snapshot.records:
            heard = record.claims if record.state == OwnershipState.CONFLICT else record.claims[:1]
            for index in heard:
                claim = snapshot.claims[index]
                self._decided[_txt_key(claim.endpoint), claim.raw] = record.key

    def txt(self, key: TxtKey) -> Endpoint | None:
        record = self.records.get(EndpointKey(key.name, "TXT", key.set_identifier))
        return self._txts.get(key) or (record.endpoint if record else None)

    def decided_by(self, key: TxtKey, target: str) -> EndpointKey | None:
        """A record set whose owner this claim decides, or helps to leave undecided."""
        return self._decided.get((key, target))

    def txts_claiming(self, key: EndpointKey) -> set[TxtKey]:
        """Where the readable claims stand that speak for a record set."""
        record = self.records.get(key)
        claims = [self.snapshot.claims[index] for index in record.claims] if record else []
        found = (_txt_key(claim.endpoint) for claim in claims if claim.owner_id)
        return {each for each in found if each is not None}


def _find_difference(live: _LiveFacts, item: TransferItem, plan: ItemPlan, kind: str) -> str:
    if item.name in live.snapshot.shadowed_names:
        return f"Something at {item.name} could not be read this time."
    for key, reviewed in _expected(plan).items():
        if key in live.ambiguous:
            return f"The provider lists the TXT record {key.name} more than once."
        if not is_as_reviewed(live.txt(key), reviewed):
            return describe_moved(key, live.txt(key), reviewed)
    if kind == _KIND.CLEAN_UP:
        return _find_revived(live, plan)
    record = live.records.get(key_of(item))
    difference = find_record_difference(item, record.endpoint if record else None)
    if difference:
        return difference
    more = live.txts_claiming(key_of(item)) - set(plan.before)
    if more:
        return f"Another claim for {item.name} {item.record_type} appeared at {min(more).name}."
    if record and record.state == OwnershipState.UNKNOWN:
        return f"The owner of {item.name} {item.record_type} is unknown now."
    return ""


def _expected(plan: ItemPlan) -> Mapping[TxtKey, EndpointDict | None]:
    """What must stand at each TXT name the item touches; None: nothing."""
    return {**dict.fromkeys(plan.after), **plan.before}


def _find_revived(live: _LiveFacts, plan: ItemPlan) -> str:
    """A claim that decides by now is not cleaned away, whatever it did when it was reviewed."""
    for key, before in plan.before.items():
        kept = plan.after.get(key, {}).get("targets", ())
        for target in before["targets"]:
            decided = live.decided_by(key, target)
            if target not in kept and decided is not None:
                return f"The claim at {key.name} decides who owns {decided.name} {decided.record_type} now."
    return ""


def _find_bystanders(
    live: _LiveFacts, mine: set[EndpointKey], removed: Mapping[TxtKey, int], rewritten: Mapping[TxtKey, int]
) -> dict[int, str]:
    """Record sets beside the transfer that one of its TXT records speaks for (I11 in spirit: nobody's
    ownership moves unasked)."""
    found: dict[int, str] = {}
    touched = {**removed, **rewritten}
    claims_at: dict[int, TxtKey] = {}
    for index, claim in enumerate(live.snapshot.claims):
        key = _txt_key(claim.endpoint)
        if key is not None and key in touched and claim.owner_id:
            claims_at[index] = key
    for record in live.snapshot.records if claims_at else ():
        if record.key in mine:
            continue
        for place, index in enumerate(record.claims):
            txt = claims_at.get(index)
            if txt is None or (txt in removed and place > 0):
                continue
            found[touched[txt]] = (
                f"The claim at {txt.name} also speaks for {record.key.name} {record.key.record_type}, "
                "which is not part of this transfer."
            )
    return found


def _reviewed_endpoint(item: TransferItem, reviewed: Mapping[str, list[str]]) -> Endpoint:
    return Endpoint(
        dns_name=item.name,
        targets=tuple(reviewed["targets"]),
        record_type=item.record_type,
        provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in reviewed["provider_specific"]),
    )


def _txt_key(endpoint: Endpoint) -> TxtKey | None:
    try:
        key = endpoint_key(endpoint)
    except InvalidName:
        return None
    return TxtKey(key.name, key.set_identifier)
