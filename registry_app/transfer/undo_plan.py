"""The plan that undoes a transfer: from its stored steps, byte for byte."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec
from django.db.models import Max

from providers.registries.ownership import is_alias
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.actor import Actor
from registry_app.models import Grant, Owner, Provider, RecordSet, Transfer, TransferItem, TransferStep
from registry_app.queries.desired_set import fetch_desired_facts
from registry_app.queries.instance import fetch_instances
from registry_app.queries.kept_by_guard import fetch_kept_by_guard
from registry_app.queries.loop import fetch_declared_set
from registry_app.queries.sides import find_denied_on_both, find_denied_side
from registry_app.queries.transfer_items import find_left_to_undo
from registry_app.transfer.plan.build_plan import build_plan_value
from registry_app.transfer.plan.claim_key import ClaimKey, claim_key_of, describe_place, format_endpoint
from registry_app.transfer.plan.neighbours import add_neighbour_verdicts, leave_out_locked
from registry_app.transfer.plan.preconditions import add_desired, build_preconditions
from registry_app.transfer.plan.provider_plan import (
    PlannedItem,
    ProviderPlan,
    Refusal,
    assign_batches,
    find_stores_of_items,
)
from registry_app.transfer.plan.refusals import (
    build_confirmation_text,
    find_provider_refusals,
)
from registry_app.transfer.plan.subjects import RecordFacts, load_shown, to_record_facts
from registry_app.transfer.plan.verdicts import (
    InstanceVerdicts,
    NewOwner,
    compute_verdict_without_change,
)
from registry_app.transfer.plan.verdicts_by_facts import Verdict
from registry_app.transfer.send.item_plan import key_of, plan_of
from registry_app.transfer.send.live_zone import ExistingRecord
from registry_app.transfer.send.review import find_reason_not_to_restore
from registry_app.transfer.send.steps import changes_of_step, claim_key_of_row
from registry_app.writes.read_back import Change

_KIND = Transfer.Kind
_OWNER_STAYS = (_KIND.REFORMAT, _KIND.CLEAN_UP)
_CHUNK = 500


def build_undo_plan(actor: Actor, original: Transfer, target_intent: str) -> ProviderPlan:
    """The inverse of every verified item of `original` that is not undone yet, with its refusals.

    `target_intent` is what a person states that the former owner wants."""
    existing: list[RecordFacts] = []
    former = _fetch_former_owners(actor, original, target_intent)
    items: tuple[PlannedItem, ...] = tuple(_build_items(original, existing, former))
    items = leave_out_locked(original.provider, items)
    items = add_neighbour_verdicts(items, existing, _find_new_owner(original, former))
    items = assign_batches(items, original.provider.effective_batch_size)
    included = [item for item in items if not item.problem]
    left_behind = {key for item in included for key in item.left_behind}
    source, target = _swap_owners(original)
    preconditions = build_preconditions(
        original.provider,
        _KIND.UNDO,
        list(Owner.objects.filter(owner_id__in=former)) or ([target] if target else []),
        find_stores_of_items(included),
        [source.owner_id] if source and source != target else [],
    )
    return build_plan_value(
        provider=original.provider,
        kind=_KIND.UNDO,
        items=items,
        source=source,
        target=target,
        intent=target_intent,
        preconditions=add_desired(preconditions, original.provider, target, included),
        refusals=tuple(_find_refusals(actor, original, items, included)),
        approval_policy=original.provider.approval_policy,
        confirmation_text=build_confirmation_text(_KIND.UNDO, included, "", left_behind=len(left_behind)),
    )


def _find_new_owner(
    original: Transfer, former: Mapping[str, InstanceVerdicts]
) -> Callable[[PlannedItem], NewOwner | None]:
    """The owner that an item returns to; None if its owner stays, or if it had none, or several."""
    rows = original.items.order_by().values_list("name", "record_type", "set_identifier", "owner_before")
    before = {EndpointKey(*key): owner_ids for *key, owner_ids in rows.iterator(chunk_size=2_000)}

    def find(item: PlannedItem) -> NewOwner | None:
        owner_id = before.get(item.key, "")
        if original.kind in _OWNER_STAYS or not owner_id or "," in owner_id:
            return None
        return former[owner_id].build_new_owner(item.key)

    return find


def _build_items(
    original: Transfer, existing: list[RecordFacts], former: Mapping[str, InstanceVerdicts]
) -> Iterator[PlannedItem]:
    """The inverse of each item; `existing` collects all record sets at their names."""
    by_batch: dict[int, list[TransferItem]] = defaultdict(list)
    for item in find_left_to_undo(original).order_by("ordinal"):
        by_batch[item.batch].append(item)
    is_clean_up = original.kind == _KIND.CLEAN_UP
    is_fresh = _is_mirror_fresh(original)
    for batch, items in by_batch.items():
        written = _load_written(original, batch)
        records = _load_records(original, items)
        existing += [to_record_facts(row) for row in records.values()]
        names = sorted({item.name for item in items})
        shown = load_shown(original.provider, names) if is_fresh else None
        at_name = _group_by_name(records) if is_clean_up else {}
        for item in items:
            record = records.get(key_of(item))
            verdict = _compute_verdict(original, item, record, former)
            inverse = _invert(original, item, written, record, verdict)
            if shown is not None:
                inverse = _leave_out_if_changed(inverse, shown)
            yield _leave_out_if_it_decides(inverse, at_name[item.name]) if is_clean_up else inverse


def _invert(
    original: Transfer,
    item: TransferItem,
    written: dict[ClaimKey, Change],
    record: RecordSet | None,
    verdict: Verdict,
) -> PlannedItem:
    plan = plan_of(item, original.kind)
    mine = {key: written[key] for key in plan.changed if key in written}
    # The claims that stayed are reviewed too: otherwise they would seem to have appeared since.
    stayed = [endpoint for key, endpoint in plan.after.items() if key not in plan.changed]
    owner_now = item.owner_before
    if original.kind not in _OWNER_STAYS:
        owner_now = original.target_owner.owner_id if original.target_owner else ""
    is_gone = record is None and original.kind != _KIND.CLEAN_UP
    return PlannedItem(
        name=item.name,
        record_type=item.record_type,
        set_identifier=item.set_identifier,
        record_before=to_record_facts(record).to_dict() if record else None,
        before=[*stayed, *(format_endpoint(each.new, key.store) for key, each in mine.items() if each.new)],
        after=[*stayed, *(format_endpoint(each.old, key.store) for key, each in mine.items() if each.old)],
        verdict=verdict.value,
        verdict_reason=verdict.reason,
        problem="The record set is gone, so there is nothing to restore." if is_gone else "",
        problem_code="missing" if is_gone else "",
        source_owner_id=owner_now,
    )


def _is_mirror_fresh(original: Transfer) -> bool:
    """Whether the mirror is newer than the last read-back: an older one cannot show what changed since."""
    last = original.steps.aggregate(last=Max("read_back_at"))["last"]
    accepted_at = original.provider.accepted_at
    return last is not None and accepted_at is not None and accepted_at >= last


def _leave_out_if_changed(item: PlannedItem, shown: dict[ClaimKey, tuple[str, ...]]) -> PlannedItem:
    """Leave the item out if somebody changed its claims since the transfer (I9)."""
    expected = {claim_key_of(endpoint): tuple(endpoint["targets"]) for endpoint in item.before}
    empty = {claim_key_of(endpoint) for endpoint in item.after} - expected.keys()
    for key, targets in [*expected.items(), *((key, ()) for key in sorted(empty))]:
        if not item.problem and sorted(shown.get(key, ())) != sorted(targets):
            problem = f"Somebody changed {describe_place(key, {})} since. It is left as it is."
            return replace(item, problem=problem, problem_code="changed_since")
    return item


def _leave_out_if_it_decides(item: PlannedItem, existing: list[ExistingRecord]) -> PlannedItem:
    places = [claim_key_of(endpoint).name for endpoint in item.after]
    reason = find_reason_not_to_restore(item.key, item.source_owner_id, places, existing)
    return replace(item, problem=reason, problem_code="claim_decides") if reason else item


def _group_by_name(records: dict[EndpointKey, RecordSet]) -> dict[str, list[ExistingRecord]]:
    found: dict[str, list[ExistingRecord]] = defaultdict(list)
    for key, row in records.items():
        facts = to_record_facts(row)
        found[key.name].append(ExistingRecord(key, facts.owner_id, is_alias(facts.to_endpoint())))
    return found


def _load_written(original: Transfer, batch: int) -> dict[ClaimKey, Change]:
    """What each place held before the first step of a batch, and as it was read back after the last one."""
    written: dict[ClaimKey, Change] = {}
    steps = original.steps.filter(batch=batch).exclude(status=TransferStep.Status.NOT_SENT)
    for step in steps.order_by("pk"):
        read_back = _read_back_of(step)
        for key, change in changes_of_step(step).items():
            old = written[key].old if key in written else change.old
            written[key] = Change(old, read_back.get(key, change.new))
    return written


def _read_back_of(step: TransferStep) -> dict[ClaimKey, Endpoint | None]:
    """What the provider showed: it may quote a text in another way than it was sent."""
    return {
        claim_key_of_row(row): msgspec.convert(row["endpoint"], Endpoint | None)
        for row in step.read_back or []
        if row["outcome"] == "new"
    }


def _load_records(original: Transfer, items: list[TransferItem]) -> dict[EndpointKey, RecordSet]:
    rows: dict[EndpointKey, RecordSet] = {}
    names = sorted({item.name for item in items})
    for start in range(0, len(names), _CHUNK):
        found = RecordSet.objects.filter(
            provider=original.provider_id, name__in=names[start : start + _CHUNK], missing_since__isnull=True
        ).select_related("owner")
        rows.update({EndpointKey(row.name, row.record_type, row.set_identifier): row for row in found})
    return rows


def _fetch_former_owners(actor: Actor, original: Transfer, intent: str) -> dict[str, InstanceVerdicts]:
    """What the instances of each former owner do to record sets that return to it, by owner id."""
    if original.kind in _OWNER_STAYS:
        return {}
    before = find_left_to_undo(original).order_by().values_list("owner_before", flat=True).distinct()
    owner_ids = [owner_id for owner_id in before if owner_id]
    known = fetch_instances(owner_ids)
    names = set(find_left_to_undo(original).order_by().values_list("name", flat=True))
    declared = {
        owner.owner_id: fetch_declared_set(owner, original.provider)
        for owner in Owner.objects.filter(owner_id__in=owner_ids)
    }
    return {
        owner_id: InstanceVerdicts(
            owner_id,
            known.get(owner_id, ()),
            original.provider_id,
            intent=intent,
            stated_by=actor.name,
            declared=declared.get(owner_id),
            desired=fetch_desired_facts(owner_id, original.provider_id, names),
            kept=fetch_kept_by_guard(owner_id, original.provider),
        )
        for owner_id in owner_ids
    }


def _compute_verdict(
    original: Transfer, item: TransferItem, record: RecordSet | None, former: Mapping[str, InstanceVerdicts]
) -> Verdict:
    if original.kind in _OWNER_STAYS:
        return compute_verdict_without_change("It keeps its owner.")
    if not item.owner_before:
        return compute_verdict_without_change("It had no owner before: no instance changes or deletes it.")
    if "," in item.owner_before:
        return compute_verdict_without_change("Its claims disagree again: each instance sees its own claim.")
    current = to_record_facts(record).to_endpoint() if record else None
    return former[item.owner_before].judge_record(key_of(item), current)


def _swap_owners(original: Transfer) -> tuple[Owner | None, Owner | None]:
    if original.kind in _OWNER_STAYS:
        return original.source_owner, original.target_owner
    return original.target_owner, original.source_owner


def _find_refusals(
    actor: Actor, original: Transfer, items: Iterable[PlannedItem], included: list[PlannedItem]
) -> list[Refusal]:
    refusals = find_provider_refusals(original.provider)
    if not included:
        problems = [item.problem for item in items if item.problem]
        happened = f"Nothing of this transfer can be undone. {problems[0] if problems else ''}".strip()
        return [*refusals, Refusal("nothing_to_undo", happened, todo="See the reasons of its items.")]
    before = original.items.filter(status=TransferItem.Status.VERIFIED).values_list("owner_before", "name")
    now = [(item.source_owner_id, item.name) for item in included]
    provider, action = original.provider, Grant.Action.REQUEST
    if provider.approval_policy == Provider.ApprovalPolicy.BOTH_SIDES:
        names = {name for _, name in now}
        back = [part for part in before if part[1] in names]
        denied = find_denied_on_both(actor, action, provider, now, back)
    else:
        denied = find_denied_side(actor, action, provider, [*before, *now])
    if denied is not None:
        happened = f"{actor.name or 'Nobody'} may not request transfers of {denied}."
        refusals.append(Refusal("not_allowed", happened, todo="Ask somebody who may."))
    return refusals
