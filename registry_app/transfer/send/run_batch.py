"""One batch: write the claims, read them back, then remove what they replace, and read back again.

Each step goes to one place, the zone or one registry store, and is read back before the next one.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from providers.http.errors import NothingSent
from providers.registries.errors import RegistryError
from providers.wire.json_codec import encode_change_set
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.models import TransferItem
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, claim_key_of, describe_place
from registry_app.transfer.plan.item_row import ItemRow, iterate_items
from registry_app.transfer.send.change_sets import ChangeBuilder, encode_store_changes, list_allowed_claims
from registry_app.transfer.send.item_plan import (
    ItemOutcome,
    ItemPlan,
    StepTarget,
    key_of,
    names_of,
    plan_of,
    sort_targets,
)
from registry_app.transfer.send.live_zone import Unsendable
from registry_app.transfer.send.review import find_record_difference
from registry_app.transfer.send.session import TransferSession
from registry_app.transfer.send.steps import (
    ReadBack,
    judge_items,
    load_earlier,
    read_back,
    settle_transfer_step,
    store_transfer_step,
)
from registry_app.writes.allowed_changes import raise_if_not_allowed
from registry_app.writes.step import send_step

_ITEM = TransferItem.Status
_GOING = (_ITEM.PENDING, _ITEM.SENDING)


@dataclass(frozen=True)
class BatchItems:
    """The items of a batch that are not over: nothing was sent for them, or their old claim still exists.
    `plans` are theirs, `names` all names that they are about."""

    rows: Sequence[ItemRow] = ()
    plans: Mapping[int, ItemPlan] = field(default_factory=dict)
    names: Set[str] = frozenset()

    @property
    def is_any_verified(self) -> bool:
        """Whether a change of the batch was read back."""
        return any(item.status == _ITEM.VERIFIED for item in self.rows)


def load_batch(session: TransferSession, number: int) -> BatchItems:
    """What is left of a batch. Database read."""
    transfer = session.transfer
    rows = list(iterate_items(transfer.items.filter(batch=number, status__in=_GOING)))
    plans = {item.pk: plan_of(item, transfer.kind) for item in rows}
    return BatchItems(rows, plans, names_of(rows, plans))


def run_batch(session: TransferSession, items: BatchItems, names: Set[str]) -> None:
    """Send what can be sent of a batch; every item ends with a status that was read back.

    `session.zone` must be a reading of `names`. Raises NothingSent, ProviderError, WireError, LeaseLost:
    what was begun is then found and finished by the next run.
    """
    if not items.rows:
        return
    batch = _Batch(session, items, names)
    for step_target in batch.step_targets:
        batch.run_step(step_target)
    batch.accept_unchanged()


class _Batch:
    """The items of one batch; their `status` is the one that is stored."""

    def __init__(self, session: TransferSession, items: BatchItems, names: Set[str]) -> None:
        self._session = session
        self._items = items.rows
        self._names = names
        self._plans = items.plans
        self._earlier = load_earlier(session.transfer, self._items[0].batch)
        self.step_targets = sort_targets(
            step_target for plan in self._plans.values() for step_target in plan.step_targets
        )

    def run_step(self, step_target: StepTarget) -> None:
        """Store, send and settle one step for the items that have something in this step."""
        session = self._session
        builder = ChangeBuilder(session.zone, session.txt_profiles, step_target, self._earlier)
        fit = self._build(builder)
        if not builder.changes:
            self._accept_unsent(fit, step_target)
            return
        raise_if_not_allowed(builder.changes, list_allowed_claims(self._plans[item.pk] for item in fit))
        step = store_transfer_step(session, step_target, self._encode(builder), fit)
        try:
            send_step(session, step)
        except NothingSent:
            session.store_outcomes({item.pk: (item.status, "") for item in fit})
            raise
        found = read_back(session, builder.changes, self._names, since=fetch_now())
        judged = judge_items(fit, self._plans, step_target, found)
        settle_transfer_step(session, step, found, judged)
        self._note(judged)
        self._note_sent(builder, found)
        crash_point("transfer.step_over")

    def accept_unchanged(self) -> None:
        """Items whose plan changes nothing are as wanted."""
        self._store(
            {item.pk: (_ITEM.VERIFIED, "") for item in self._items if not self._plans[item.pk].step_targets}
        )

    def _build(self, builder: ChangeBuilder) -> list[ItemRow]:
        mine = [
            item
            for item in self._items
            if item.status in _GOING and builder.step_target in self._plans[item.pk].step_targets
        ]
        built = _build_step(
            [StepItem(item, self._plans[item.pk]) for item in mine], builder, self._find_needed()
        )
        self._store(built)
        return [item for item in mine if item.pk not in built]

    def _find_needed(self) -> dict[ClaimKey, str]:
        """The places of the claims of items that are not to be changed any more, with the items' names."""
        over = self._session.transfer.items.filter(batch=self._items[0].batch)
        over = over.exclude(status__in=(*_GOING, _ITEM.VERIFIED))
        return {
            claim_key_of(endpoint): f"{name} {record_type}"
            for name, record_type, before in over.values_list("name", "record_type", "before")
            for endpoint in before
        }

    def _accept_unsent(self, items: Sequence[ItemRow], step_target: StepTarget) -> None:
        """Nothing is to be sent: all is as wanted already, as the last reading shows."""
        ends = {item.pk: self._plans[item.pk].step_targets[-1] == step_target for item in items}
        self._store({pk: (_ITEM.VERIFIED if is_over else _ITEM.SENDING, "") for pk, is_over in ends.items()})

    def _encode(self, builder: ChangeBuilder) -> bytes:
        if builder.step_target.store != ZONE:
            target = self._session.transfer.target_owner
            return encode_store_changes(builder.changes, builder.zone, target.owner_id if target else "")
        capitalized = self._session.provider.capitalized_changes
        return encode_change_set(builder.change_set(), capitalized_keys=capitalized)

    def _store(self, outcomes: dict[int, ItemOutcome]) -> None:
        if outcomes:
            self._session.store_outcomes(outcomes)
            self._note(outcomes)

    def _note(self, outcomes: dict[int, ItemOutcome]) -> None:
        for item in self._items:
            if item.pk in outcomes:
                item.status, item.status_reason = outcomes[item.pk]

    def _note_sent(self, builder: ChangeBuilder, found: ReadBack) -> None:
        sent = {key: change.new for key, change in builder.changes.items()}
        shown = {key for key, outcome in found.outcomes.items() if outcome == "new"}
        self._earlier = replace(
            self._earlier,
            sent={**self._earlier.sent, **sent},
            verified=(self._earlier.verified - sent.keys()) | shown,
        )


class StepItem(NamedTuple):
    """An item with something to do in the step."""

    item: ItemRow
    plan: ItemPlan


def _build_step(
    items: Sequence[StepItem], builder: ChangeBuilder, needed: Mapping[ClaimKey, str]
) -> dict[int, ItemOutcome]:
    """Fill `builder` with the changes of the items that are fit; the outcomes of the others.

    One changed record set never delays the rest (I17); but a claim that also covers what is left out
    stays (`needed` are such claims of items that were left out before).
    """
    outcomes: dict[int, ItemOutcome] = {}
    needed = dict(needed)
    count = -1
    while count != (count := len(outcomes)):
        builder.changes.clear()
        for each in items:
            if each.item.pk in outcomes:
                continue
            problem = _add(each, builder, needed)
            if problem:
                outcomes[each.item.pk] = _judge_unfit(each, builder, problem)
                needed |= dict.fromkeys(each.plan.before, f"{each.item.name} {each.item.record_type}")
    return outcomes


def _add(each: StepItem, builder: ChangeBuilder, needed: Mapping[ClaimKey, str]) -> str:
    """Add the item's changes; the reason if they cannot be added."""
    item, plan = each
    try:
        if item.status == _ITEM.PENDING:
            _raise_if_record_moved(each, builder)
        # An item that could not finish is not begun: the places of its later steps count, too.
        for key in plan.changed if item.status == _ITEM.PENDING else plan.keys(builder.step_target):
            if key in needed:
                place = describe_place(key, builder.zone.stores)
                raise Unsendable(f"Its claim in {place} also covers {needed[key]}, which is left out.")
        builder.add(plan, is_under_way=item.status == _ITEM.SENDING)
    except (Unsendable, RegistryError) as problem:
        return str(problem)
    return ""


def _judge_unfit(each: StepItem, builder: ChangeBuilder, problem: str) -> ItemOutcome:
    was_sent = any(key in builder.earlier.sent for key in each.plan.changed)
    was_sent = was_sent or each.item.status == _ITEM.SENDING
    return (_ITEM.NEEDS_OPERATOR if was_sent else _ITEM.STALE), problem


def _raise_if_record_moved(each: StepItem, builder: ChangeBuilder) -> None:
    if any(key in builder.earlier.sent for key in each.plan.written):
        return  # sent once already: its claims are what counts now
    record = builder.zone.endpoints.get(key_of(each.item))
    difference = find_record_difference(each.item, record)
    if difference:
        raise Unsendable(difference)
    # A clean-up removes claims that decide nothing. One for a record set that was created since decides its
    # owner. (A row of a store may have been meant for another record set of this name.)
    if (
        each.item.record_before is None
        and record is not None
        and not any(key.store for key in each.plan.changed)
    ):
        raise Unsendable(f"{each.item.name} {each.item.record_type} exists now, and its claim decides.")
