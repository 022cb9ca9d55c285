"""What a stored step changes, and what the provider shows of it afterwards. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from providers.planning.claim_changes import Batch
from providers.planning.equal_values import EqualValues, list_not_shown
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ValuePair
from providers.wire.json_codec import decode_change_set_strict
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import LoopStep
from registry_app.writes.read_back import Change, changes_in, is_shown

_MOST_ENDPOINTS = 1_000_000

Action = Literal["create", "update", "delete"]
Outcome = Literal["", "verified", "not_shown", "other", "not_sent"]


class StepItem(msgspec.Struct, frozen=True):
    """One record set of a step: what is done to it, where its claims change, and what came of it.

    `outcome` is empty until it was read back. `not_shown`: it is as before. `other`: neither that nor
    what was sent.
    """

    name: str
    record_type: str
    set_identifier: str
    action: Action
    claims: tuple[EndpointKey, ...] = ()
    outcome: Outcome = ""
    reason: str = ""

    @property
    def key(self) -> EndpointKey:
        """The record set's identity."""
        return EndpointKey(self.name, self.record_type, self.set_identifier)


def build_items(batch: Batch) -> tuple[StepItem, ...]:
    """The record sets of a batch, before it is sent."""
    changes = changes_in(batch.change_set)
    return tuple(
        StepItem(*key, _action_of(changes[key]), tuple(batch.claim_places.get(key, ()))) for key in batch.keys
    )


def format_items(items: Sequence[StepItem]) -> list[dict[str, Any]]:
    """As `LoopStep.items` has them."""
    return msgspec.convert(msgspec.to_builtins(items), list[dict[str, Any]])


def parse_items(step: LoopStep) -> tuple[StepItem, ...]:
    """The record sets of a stored step, with what was read back of them."""
    return msgspec.convert(step.items, tuple[StepItem, ...])


def changes_of_step(step: LoopStep) -> dict[EndpointKey, Change]:
    """The changes of a stored step, from its exact bytes."""
    return changes_in(decode_change_set_strict(step.change_set.encode(), max_items=_MOST_ENDPOINTS))


def list_questions_of(changes: Mapping[EndpointKey, Change], snapshot: Snapshot) -> Iterator[ValuePair]:
    """The pairs of property values that decide whether a reading shows what was sent."""
    for record in snapshot.records:
        change = changes.get(record.key)
        if change is not None and change.new is not None:
            yield from list_not_shown(record.endpoint.provider_specific, change.new.provider_specific)


def judge_items(
    items: Sequence[StepItem],
    changes: Mapping[EndpointKey, Change],
    snapshot: Snapshot,
    equal: EqualValues,
) -> tuple[StepItem, ...]:
    """What became of each record set, its claims included, in one reading. Property values may be shown in
    another form that the provider calls `equal`."""
    reading = _Reading(
        _find_live(snapshot, {place for item in items for place in (item.key, *item.claims)}), equal
    )
    return tuple(_judge(item, changes, reading, snapshot.set_aside_names) for item in items)


@dataclass(frozen=True)
class _Reading:
    live: Mapping[EndpointKey, Endpoint]
    equal: EqualValues

    def shows(self, place: EndpointKey, wanted: Endpoint | None) -> bool:
        return is_shown(self.live.get(place), wanted, self.equal)


def _judge(
    item: StepItem, changes: Mapping[EndpointKey, Change], reading: _Reading, shadowed: frozenset[str]
) -> StepItem:
    if item.name in shadowed:
        return msgspec.structs.replace(
            item, outcome="other", reason="A record at its name could not be read."
        )
    places = [place for place in (item.key, *item.claims) if place in changes]
    is_new = {place: reading.shows(place, changes[place].new) for place in places}
    if all(is_new.values()):
        return msgspec.structs.replace(item, outcome="verified", reason="")
    if all(reading.shows(place, changes[place].old) for place in places):
        return msgspec.structs.replace(
            item,
            outcome="not_shown",
            reason="It was read back as before. The provider may still apply it: the next run reads it "
            "again.",
        )
    reason = _describe_other(item, is_new, reading.live)
    return msgspec.structs.replace(item, outcome="other", reason=reason)


def _describe_other(
    item: StepItem, is_new: Mapping[EndpointKey, bool], live: Mapping[EndpointKey, Endpoint]
) -> str:
    if item.action == "create" and is_new[item.key]:
        return (
            "The record set was created and its claim was not: it has no owner. Adopt it, or delete "
            "it at the provider."
        )
    if item.action == "delete" and is_new[item.key]:
        return "The record set is gone, and its claim is still there: clean it up."
    current = live.get(item.key)
    return (
        f"It holds {', '.join(current.targets)[:300]}."
        if current
        else "The record set does not exist, and its claim does."
    )


def _find_live(snapshot: Snapshot, places: set[EndpointKey]) -> dict[EndpointKey, Endpoint]:
    found = {record.key: record.endpoint for record in snapshot.records if record.key in places}
    for claim in snapshot.claims:
        if not claim.is_in_zone:
            continue
        try:
            key = endpoint_key(claim.endpoint)
        except InvalidName:
            continue
        if key in places:
            found[key] = claim.endpoint
    return found


def _action_of(change: Change) -> Action:
    if change.old is None:
        return "create"
    return "update" if change.new is not None else "delete"
