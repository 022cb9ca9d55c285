"""Claims of an owner that keeps them in a registry store: the rows of a batch, before and after it. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from providers.planning.planned_changes import LeftAlone, PlannedChanges
from providers.registries.errors import RegistryError
from providers.registries.labels import (
    OWNER,
    format_labels,
    labels_beside_owner,
    parse_labels,
    raise_if_owner_unwritable,
)
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.registry import EndpointClaims
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.loop.step_changes import StepItem
from registry_app.mirror.snapshot import Snapshot

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(tuple[StoredClaimChange, ...])

Rows = Mapping[EndpointKey, str]


def encode_rows(changes: Sequence[StoredClaimChange]) -> bytes:
    """The body of a step for one store."""
    return _ENCODER.encode(changes)


def decode_rows(body: bytes) -> tuple[StoredClaimChange, ...]:
    """The changes to make in a store, from the stored bytes."""
    return _DECODER.decode(body)


def find_rows(snapshot: Snapshot, store: str, owner_id: str) -> Rows:
    """The heritage texts of an owner's rows in a store, intents included."""
    return {
        claim.key: claim.text
        for claim in _claims_of(snapshot, store)
        if not claim.problem and (parse_labels(claim.text) or {}).get(OWNER) == owner_id
    }


def build_texts(
    changes: PlannedChanges, owner_id: str
) -> tuple[dict[EndpointKey, str], tuple[LeftAlone, ...]]:
    """The heritage text of each record set to create, and those for which none can be written."""
    texts: dict[EndpointKey, str] = {}
    left: list[LeftAlone] = []
    for endpoint in changes.creates:
        labels = {**labels_beside_owner(endpoint.labels), OWNER: owner_id}
        try:
            raise_if_owner_unwritable(owner_id)
            texts[endpoint_key(endpoint)] = format_labels(labels, quoted=False)
        except RegistryError as error:
            reason = f"It cannot be claimed, so it was not created: {error}"
            left.append(LeftAlone(endpoint_key(endpoint), reason))
    return texts, tuple(left)


def describe_creates(
    creates: Iterable[Endpoint], texts: Rows, claims: EndpointClaims
) -> tuple[Endpoint, ...]:
    """The record sets to create with their claim in themselves, as aws-sd has it."""
    return tuple(claims.write(each, texts[endpoint_key(each)]) for each in creates)


def build_intents(creates: Iterable[Endpoint], texts: Rows, rows: Rows) -> list[StoredClaimChange]:
    """The rows to write before the record sets are created."""
    return [
        StoredClaimChange(each, rows.get(key), texts[key], is_intent=True)
        for each in creates
        for key in (endpoint_key(each),)
    ]


def build_settlement(
    items: Sequence[StepItem],
    records: Mapping[EndpointKey, Endpoint],
    texts: Rows,
    rows: Rows,
    *,
    has_intents: bool,
) -> list[StoredClaimChange]:
    """The changes of rows after the read-back: an intent whose record set exists becomes a claim, and the row
    of what was deleted, or not created, is removed. What is not known stays as it is.

    `has_intents`: the store marks intents. There the intent of what was not created stays until the next run:
    if the provider is late, the record set is still claimed.
    """
    found: list[StoredClaimChange] = []
    for item in items:
        is_create = item.action == "create"
        text = texts.get(item.key) if is_create else rows.get(item.key)
        if text is None or item.key not in records:
            continue
        if item.outcome == "verified":
            new = None if item.action == "delete" else text
            found.append(StoredClaimChange(records[item.key], text, new))
        elif is_create and item.outcome == "not_shown" and not has_intents:
            found.append(StoredClaimChange(records[item.key], text, None))
    return found


def build_tidying(
    snapshot: Snapshot, store: str, owner_id: str, to_be_made: Collection[EndpointKey]
) -> list[StoredClaimChange]:
    """What an earlier run left: intents whose record sets exist by now, or are not desired any more."""
    owned = {record.key: record for record in snapshot.records if record.owner_id == owner_id}
    found: list[StoredClaimChange] = []
    for claim in _claims_of(snapshot, store):
        is_ours = (parse_labels(claim.text) or {}).get(OWNER) == owner_id and not claim.problem
        if claim.meant_targets is None or not is_ours or claim.key in to_be_made:
            continue
        if claim.key in owned:
            found.append(StoredClaimChange(owned[claim.key].endpoint, claim.text, claim.text))
        else:
            name, record_type, identifier = claim.key
            gone = Endpoint(name, claim.meant_targets, record_type, identifier)
            found.append(StoredClaimChange(gone, claim.text, None))
    return found


def judge_rows(
    items: Sequence[StepItem], changes: Iterable[StoredClaimChange], snapshot: Snapshot, store: str
) -> tuple[StepItem, ...]:
    """What became of each row, in one reading."""
    existing: dict[EndpointKey, set[str]] = {}
    for claim in _claims_of(snapshot, store):
        existing.setdefault(claim.key, set()).add(claim.text)
    by_key = {endpoint_key(change.record): change for change in changes}
    return tuple(_judge(item, by_key[item.key], existing.get(item.key, set())) for item in items)


def _judge(item: StepItem, change: StoredClaimChange, texts: set[str]) -> StepItem:
    is_new = change.old not in texts if change.new is None else change.new in texts
    if is_new:
        return msgspec.structs.replace(item, outcome="verified", reason="")
    is_old = change.new not in texts if change.old is None else change.old in texts
    if is_old:
        reason = "Its row was read back as before. It may still change: the next run reads it again."
        return msgspec.structs.replace(item, outcome="not_shown", reason=reason)
    return msgspec.structs.replace(
        item, outcome="other", reason="Its row in the registry store has other values."
    )


def _claims_of(snapshot: Snapshot, store: str) -> tuple[StoredClaim, ...]:
    return next((each.claims for each in snapshot.contents if each.reference == store), ())
