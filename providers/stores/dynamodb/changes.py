"""Changes of a dynamodb registry as actions of its transactions, each on the condition that its row still is
as it was read. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from providers.http.errors import NothingSent
from providers.registries.labels import OWNER, parse_labels
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.dynamodb.item import (
    KEY,
    LABELS_ATTRIBUTE,
    OWNER_ATTRIBUTE,
    Attributes,
    DynamoDbItem,
    UnstorableRow,
    build_attributes,
    build_item,
    format_key,
    read_item,
)
from providers.stores.dynamodb.responses import CancellationReason, RowConflict, TransactionCancelled
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import safe_text

# What one transaction takes: 100 rows since 2022, and 4 MB. The more rows, the fewer moments in which some of
# a write is made and some is not. The JSON of a row is longer than what the service counts.
MOST_ROWS_AT_ONCE = 100
MOST_BYTES_AT_ONCE = 3 * 2**20
_MET_NOT = "ConditionalCheckFailed"
_SHOWN_CONFLICTS = 3


class RowChange(msgspec.Struct, frozen=True):
    """One row to be changed: the action, which row, what it is about in words, and its size in bytes."""

    action: Mapping[str, object]
    stored_key: str
    name: str
    old: str | None
    size: int


def build_row_changes(
    changes: Iterable[StoredClaimChange], items: Iterable[DynamoDbItem], table: str
) -> list[RowChange]:
    """What has to be sent for these changes, now that the table holds these items.

    A row that stays as it is needs nothing. Raises NothingSent if one change does
    not fit; RowConflict, which is one, where another writer was first.
    """
    found: dict[EndpointKey, list[DynamoDbItem]] = defaultdict(list)
    for item in items:
        found[item.claim.key].append(item)
    rows: dict[str, RowChange] = {}
    for change in changes:
        name = _name(change.record)
        try:
            current = _find_unchanged(change, found.get(endpoint_key(change.record), ()), name)
            row = None if change.old == change.new else _build_row_change(change, current, table)
        except InvalidName as error:
            raise NothingSent(f"The change was not sent: {name} is no name: {error.reason}.") from error
        except UnstorableRow as error:
            raise NothingSent(f"The change was not sent: no row can hold {name}: {error}.") from error
        if row is None:
            continue
        if row.stored_key in rows:
            raise NothingSent(f"The change was not sent: it changes the row of {name} more than once.")
        rows[row.stored_key] = row
    return list(rows.values())


def split_row_changes(rows: Sequence[RowChange]) -> Iterator[list[RowChange]]:
    """The rows in order, as many together as one transaction takes."""
    group: list[RowChange] = []
    size = 0
    for row in rows:
        if group and (len(group) == MOST_ROWS_AT_ONCE or size + row.size > MOST_BYTES_AT_ONCE):
            yield group
            group, size = [], 0
        group.append(row)
        size += row.size
    if group:
        yield group


def explain_conflict(error: NothingSent, rows: Sequence[RowChange]) -> NothingSent:
    """The error for a transaction of these rows: RowConflict, naming rows and holders, if that is why."""
    if not isinstance(error.reason, TransactionCancelled):
        return error
    met_not = [
        f"{row.name} {_describe_current(reason, row)}"
        for row, reason in zip(rows, error.reason.reasons, strict=False)
        if reason.code == _MET_NOT
    ]
    if not met_not:
        return error
    more = f", and {len(met_not) - _SHOWN_CONFLICTS} more" if len(met_not) > _SHOWN_CONFLICTS else ""
    return RowConflict(
        f"The change was not made: {'; '.join(met_not[:_SHOWN_CONFLICTS])}{more}.",
        reason=error.reason,
        hint="Another writer was first. Read the table again, and decide again.",
    )


def _find_unchanged(
    change: StoredClaimChange, found: Sequence[DynamoDbItem], name: str
) -> DynamoDbItem | None:
    """The row as it is now, if it is just as it was when the change was planned; None: still none."""
    if not found:
        if change.old is None:
            return None
        raise RowConflict(f"The change was not sent: {name} has no row any more.")
    claim = found[0].claim
    if claim.problem:
        raise NothingSent(f"The change was not sent: the row of {name} is not valid. {claim.problem}")
    if claim.text != change.old:
        raise RowConflict(f"The change was not sent: {name} {_describe_holder(claim, change.old)}.")
    return found[0]


def _build_row_change(change: StoredClaimChange, current: DynamoDbItem | None, table: str) -> RowChange:
    target = {"TableName": table, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    name, old = _name(change.record), change.old
    if current is None:
        action = {"Put": {**target, **_build_put(change.record, change.new or "")}}
        return RowChange(action, format_key(change.record), name, old, _size_of(action))
    row_target = {**target, "Key": {KEY: {"S": current.stored_key}}}
    if change.new is None:
        action = {"Delete": {**row_target, **_build_condition(current.attributes)}}
    else:
        action = {"Update": {**row_target, **_build_update(current.attributes, change.new)}}
    return RowChange(action, current.stored_key, name, old, _size_of(action, current.attributes))


def _build_put(record: Endpoint, text: str) -> dict[str, object]:
    return {
        "Item": build_item(record, text),
        "ConditionExpression": "attribute_not_exists(#k)",
        "ExpressionAttributeNames": {"#k": KEY},
    }


def _build_update(current: Attributes, text: str) -> dict[str, object]:
    """An update and not a put: attributes that are unknown to us stay."""
    news = build_attributes(text, current)
    condition = _build_condition(current)
    values = {":new_o": news[OWNER_ATTRIBUTE], ":new_l": news[LABELS_ATTRIBUTE]}
    return {
        **condition,
        "UpdateExpression": "SET #o = :new_o, #l = :new_l",
        "ExpressionAttributeValues": {**_values_of(current), **values},
    }


def _build_condition(current: Attributes) -> dict[str, object]:
    """That owner and labels are what was read, whatever else the row has."""
    has_labels = LABELS_ATTRIBUTE in current
    return {
        "ConditionExpression": f"#o = :o AND {'#l = :l' if has_labels else 'attribute_not_exists(#l)'}",
        "ExpressionAttributeNames": {"#o": OWNER_ATTRIBUTE, "#l": LABELS_ATTRIBUTE},
        "ExpressionAttributeValues": _values_of(current),
    }


def _values_of(current: Attributes) -> dict[str, object]:
    return {f":{name}": current[name] for name in (OWNER_ATTRIBUTE, LABELS_ATTRIBUTE) if name in current}


def _size_of(*values: object) -> int:
    return sum(len(msgspec.json.encode(value)) for value in values)


def _describe_current(reason: CancellationReason, row: RowChange) -> str:
    if not reason.item:
        return "has a row by now" if row.old is None else "has no row any more"
    return _describe_holder(read_item(reason.item).claim, row.old)


def _describe_holder(claim: StoredClaim, old: str | None) -> str:
    """Who has a row that is not as it was read."""
    owner_id = safe_text(_owner_of(claim.text)) or "somebody unreadable"
    if old is None:
        return f"has a row of {owner_id} already"
    if owner_id == _owner_of(old):
        return f"has other labels now than it was read with, though still of {owner_id}"
    return f"is held by {owner_id} now"


def _owner_of(text: str) -> str:
    return (parse_labels(text) or {}).get(OWNER, "")


def _name(record: Endpoint) -> str:
    name = f"{record.dns_name} {record.record_type}"
    return safe_text(f"{name} ({record.set_identifier})" if record.set_identifier else name)
