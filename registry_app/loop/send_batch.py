"""One batch, with the claims of its record sets: in the same change set, or in a registry store around it.

In a store a claim is written before its record set is made, as an intent, and settled by what was read back,
so that a crash leaves nothing without an owner.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from providers.planning.claim_changes import Batch, build_change_set
from providers.planning.plan import PlanSettings
from providers.planning.planned_changes import LeftAlone, PlannedChanges
from providers.registries.claim import OwnershipState
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.json_codec import encode_change_set
from registry_app.loop.claim_rows import (
    Rows,
    build_intents,
    build_settlement,
    build_texts,
    build_tidying,
    describe_creates,
    encode_rows,
    find_rows,
)
from registry_app.loop.loop_run import note_left_alone
from registry_app.loop.plan_loop import LoopPlan
from registry_app.loop.session import LoopSession
from registry_app.loop.step_changes import StepItem, build_items
from registry_app.loop.steps import Found, read_back_and_settle, store_run_step
from registry_app.mirror.plausibility import count_endpoints
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import LoopRun
from registry_app.writes.allowed_changes import Allowed, raise_if_not_allowed
from registry_app.writes.read_back import changes_in
from registry_app.writes.step import send_step


def send_batch(
    session: LoopSession, run: LoopRun, plan: LoopPlan, chosen: PlannedChanges, names: frozenset[str]
) -> Found | None:
    """Make these changes and read them back, as the part of the provider that holds `names` shows them; None
    if nothing of them can be sent.

    Raises NothingSent, ProviderError, WireError, LeaseLost: what was begun is then found by reading.
    """
    if plan.store:
        return _StoreBatch(session, run, plan, names).send(chosen)
    batch = build_change_set(chosen, plan.pairing, plan.profile, plan.settings)
    return _send(session, run, plan, batch, names)


def _send(
    session: LoopSession, run: LoopRun, plan: LoopPlan, batch: Batch, names: frozenset[str]
) -> Found | None:
    if batch.left_alone:
        note_left_alone(run, batch.left_alone)
    if batch.change_set.is_empty():
        return None
    allowed = _list_allowed_changes(batch, plan.snapshot, plan.settings)
    raise_if_not_allowed(changes_in(batch.change_set), allowed)
    body = encode_change_set(batch.change_set, capitalized_keys=session.provider.capitalized_changes)
    step = store_run_step(session, run, body, build_items(batch))
    session.removed = session.removed.plus(count_endpoints(batch.change_set.delete))
    send_step(session, step)
    places = {place.name for each in batch.claim_places.values() for place in each}
    return read_back_and_settle(session, step, names | places)


class _StoreBatch:
    """A batch of an owner whose claims are rows of a store."""

    def __init__(self, session: LoopSession, run: LoopRun, plan: LoopPlan, names: frozenset[str]) -> None:
        self._session = session
        self._run = run
        self._plan = plan
        self._names = names
        self._registry = session.stores[plan.store].registry

    def send(self, chosen: PlannedChanges) -> Found | None:
        plan = self._plan
        texts, left = build_texts(chosen, plan.settings.owner_id)
        if left:
            note_left_alone(self._run, left)
        batch = self._build_records(_with_creates(chosen, set(texts)))
        if self._registry.endpoint_claims:
            creates = describe_creates(batch.change_set.create, texts, self._registry.endpoint_claims)
            change_set = msgspec.structs.replace(batch.change_set, create=creates)
            batch = msgspec.structs.replace(batch, change_set=change_set)
            return _send(self._session, self._run, plan, batch, self._names)
        rows = find_rows(plan.snapshot, plan.store, plan.settings.owner_id)
        intended = self._write_intents(batch.change_set.create, texts, rows)
        if plan.keeps_txt or len(intended) < len(batch.change_set.create):
            batch = self._build(_with_creates(chosen, intended))
        found = _send(self._session, self._run, plan, batch, self._names)
        return None if found is None else self._settle(batch, found, texts, rows)

    def _build(self, chosen: PlannedChanges) -> Batch:
        """With the copies of the claims, where the zone has such."""
        plan = self._plan
        if not plan.keeps_txt:
            return self._build_records(chosen)
        return build_change_set(chosen, plan.pairing, plan.profile, plan.settings)

    def _build_records(self, chosen: PlannedChanges) -> Batch:
        plan = self._plan
        records_alone = replace(plan.settings, has_ownership=False)
        return build_change_set(chosen, plan.pairing, plan.profile, records_alone)

    def _write_intents(self, creates: Sequence[Endpoint], texts: Rows, rows: Rows) -> set[EndpointKey]:
        """The record sets whose claim exists now, and that may be made."""
        changes = build_intents(creates, texts, rows)
        if not changes:
            return set()
        found = _write(self._session, self._run, self._plan.store, changes)
        missing = [item for item in found[1] if item.outcome != "verified"]
        reason = "Its claim could not be written first, so it was not created."
        note_left_alone(self._run, tuple(LeftAlone(item.key, reason) for item in missing))
        return {item.key for item in found[1] if item.outcome == "verified"}

    def _settle(self, batch: Batch, found: Found, texts: Rows, rows: Rows) -> Found:
        changed = changes_in(batch.change_set)
        records = {key: each for key, change in changed.items() if (each := change.new or change.old)}
        has_intents = self._registry.has_intents
        changes = build_settlement(found[1], records, texts, rows, has_intents=has_intents)
        if not changes:
            return found
        return _write(self._session, self._run, self._plan.store, changes)[0], found[1]


def tidy_rows(session: LoopSession, run: LoopRun, plan: LoopPlan) -> LoopPlan:
    """Settle what an earlier run left in the owner's store, and read it back. Raises as `send_batch`."""
    changes = list_rows_to_tidy(plan)
    if not changes:
        return plan
    snapshot, _ = _write(session, run, plan.store, changes)
    return replace(plan, snapshot=snapshot)


def list_rows_to_tidy(plan: LoopPlan) -> list[StoredClaimChange]:
    """What an earlier run left in the owner's store."""
    if not plan.store:
        return []
    to_be_made = {endpoint_key(each) for each in plan.changes.creates}
    found = build_tidying(plan.snapshot, plan.store, plan.settings.owner_id, to_be_made)
    return [each for each in found if not plan.stops.find(endpoint_key(each.record).name)]


def _write(session: LoopSession, run: LoopRun, store: str, changes: Sequence[StoredClaimChange]) -> Found:
    items = [
        StepItem(*endpoint_key(each.record), "create" if each.new is not None else "delete")
        for each in changes
    ]
    step = store_run_step(session, run, encode_rows(changes), items, store=store)
    send_step(session, step)
    return read_back_and_settle(session, step)


def _with_creates(chosen: PlannedChanges, keys: set[EndpointKey]) -> PlannedChanges:
    creates = tuple(each for each in chosen.creates if endpoint_key(each) in keys)
    return msgspec.structs.replace(chosen, creates=creates)


def _list_allowed_changes(
    batch: Batch, snapshot: Snapshot, settings: PlanSettings
) -> dict[EndpointKey, Allowed]:
    """What may happen to each record set of a batch, and where their claims are."""
    records = {record.key: record for record in snapshot.records}
    allowed: dict[EndpointKey, Allowed] = {}
    for key in batch.keys:
        record = records.get(key)
        is_ours = (
            record is not None
            and record.state is OwnershipState.OWNED
            and record.owner_id == settings.owner_id
        )
        allowed[key] = Allowed(may_create=record is None, may_change=is_ours or not settings.has_ownership)
    ours = {
        claim.raw for claim in snapshot.claims if claim.is_in_zone and claim.owner_id == settings.owner_id
    }
    claim = Allowed(removable=ours, most_added=1, is_text=True)
    return allowed | {place: claim for places in batch.claim_places.values() for place in places}
