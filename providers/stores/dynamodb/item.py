"""The dynamodb registry: one item of a table for each record set, laid out as ExternalDNS does it.

`{"k": {"S": "<dnsName>#<recordType>#<setIdentifier>"}, "o": {"S": owner}, "l": {"M": {label: {"S": text}}}}`,
in the JSON of DynamoDB. ExternalDNS matches `k` byte for byte; we match canonical names, and keep what is
there for writing back.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import (
    ENCRYPTION_NONCE,
    OWNER,
    describe_unreadable_owner,
    format_labels,
    format_writable,
    is_strict_heritage,
    parse_labels,
)
from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import MAX_LABELS, MAX_RECORD_BYTES, find_poison, safe_text

DYNAMODB = "dynamodb"
KEY, OWNER_ATTRIBUTE, LABELS_ATTRIBUTE = "k", "o", "l"
MAX_KEY_BYTES = 2048  # of a partition key, in the service

_SEPARATOR = "#"
_SHOWN_SPELLINGS = 3
_EMPTY_TEXT = "heritage=external-dns"

# One value in DynamoDB's JSON: `{"S": "text"}`, `{"M": {...}}`. From outside it may be anything at all.
Attribute = object
Attributes = Mapping[str, Attribute]


class UnstorableRow(ValueError):
    """A claim that no item of the table can hold as it is; nothing was written."""


class DynamoDbItem(msgspec.Struct, frozen=True):
    """One item as it was read: `stored_key` is its `k` exactly, empty if it has none; `attributes` is all of
    it, what is unknown to us included."""

    stored_key: str
    claim: StoredClaim
    attributes: Attributes


def read_items(values: Iterable[object]) -> list[DynamoDbItem]:
    """The items of a table. Total: what is not valid comes with its problem.

    Two items that mean one record set, in different spellings, are both set aside: there is no telling
    which of them their instances go by.
    """
    items = [read_item(value) for value in values]
    alike: dict[EndpointKey, list[str]] = defaultdict(list)
    for item in items:
        alike[item.claim.key].append(item.stored_key)
    return [
        _with_problem(item, _describe_double(spellings))
        if len(spellings := alike[item.claim.key]) > 1
        else item
        for item in items
    ]


def read_item(value: object) -> DynamoDbItem:
    """One item, whatever was sent for it."""
    attributes: Attributes = value if isinstance(value, dict) else {}
    stored_key = _read_text(attributes.get(KEY)) or ""
    key, key_problem = _read_key(stored_key)
    labels, labels_problem = _read_labels(attributes)
    text, text_problem = _format_text(labels)
    problem = key_problem or labels_problem or text_problem or describe_unreadable_owner(labels)
    return DynamoDbItem(stored_key, StoredClaim(key, text, problem), attributes)


def format_key(record: Endpoint) -> str:
    """The `k` under which ExternalDNS looks for this record set: just as its provider spells it.

    Raises UnstorableRow.
    """
    if _SEPARATOR in record.dns_name or _SEPARATOR in record.record_type:
        raise UnstorableRow("a # in its name would make its key another record set's")
    key = _SEPARATOR.join((record.dns_name, record.record_type, record.set_identifier))
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise UnstorableRow(f"its key is longer than the {MAX_KEY_BYTES} bytes a table takes")
    if _read_key(key) != (endpoint_key(record), ""):
        raise UnstorableRow("its name, type or set identifier cannot be read from its key again")
    return key


def build_attributes(text: str, current: Attributes | None = None) -> dict[str, Attribute]:
    """`o` and `l` for a heritage text without quotes; with what `current` has in `l` and no text shows.

    Raises UnstorableRow for a text that would not be read again as it is.
    """
    labels = parse_labels(text)
    if labels is None or not is_strict_heritage(text) or text.startswith('"'):
        raise UnstorableRow("its labels are not written as ExternalDNS writes them, and would change")
    problem = describe_unreadable_owner(labels)
    if problem:
        raise UnstorableRow(problem.removesuffix(".").lower())
    owner_id = labels.pop(OWNER)
    stored = {key: {"S": value} for key, value in labels.items()}
    nonce = _read_map((current or {}).get(LABELS_ATTRIBUTE, {})).get(ENCRYPTION_NONCE)
    if nonce is not None:
        stored[ENCRYPTION_NONCE] = {"S": nonce}
    return {OWNER_ATTRIBUTE: {"S": owner_id}, LABELS_ATTRIBUTE: {"M": stored}}


def build_item(record: Endpoint, text: str) -> dict[str, Attribute]:
    """A new item. Raises UnstorableRow."""
    return {KEY: {"S": format_key(record)}, **build_attributes(text)}


def _read_key(stored_key: str) -> tuple[EndpointKey, str]:
    """The record set meant, and why that is not valid. A set identifier may hold further #."""
    parts = stored_key.split(_SEPARATOR, 2)
    if len(parts) < 3 or not parts[1]:
        return _unreadable_key(stored_key), "Its key is not a name, a type and a set identifier."
    record = Endpoint(dns_name=parts[0], record_type=parts[1], set_identifier=parts[2])
    poison = find_poison(record)
    if poison is not None:
        return _unreadable_key(stored_key), f"Its key means no record set: {poison.field}: {poison.reason}."
    return endpoint_key(record), ""


def _unreadable_key(stored_key: str) -> EndpointKey:
    """A place of its own for an item that is for no record set: none has an empty type."""
    return EndpointKey(safe_text(stored_key), "", "")


def _read_labels(attributes: Attributes) -> tuple[dict[str, str], str]:
    """All labels, the owner among them, and why they are not valid."""
    owner_id = _read_text(attributes.get(OWNER_ATTRIBUTE))
    value = attributes.get(LABELS_ATTRIBUTE)
    # An instance takes an item without `l` as one without labels.
    labels = {} if value is None else _read_map(value)
    problem = ""
    if value is not None and not _is_map_of_texts(value):
        problem = "Its labels are not a map of texts."
    elif labels.get(OWNER, owner_id) != owner_id:
        problem = "It names another owner among its labels than its own."
    labels.pop(OWNER, None)
    labels.pop(ENCRYPTION_NONCE, None)
    if owner_id:
        labels[OWNER] = owner_id
    return labels, problem


def _format_text(labels: Mapping[str, str]) -> tuple[str, str]:
    """The heritage text of these labels, or of what of them it can show, and why it is not all."""
    # Counted before anything is built from them.
    if len(labels) > MAX_LABELS or sum(map(len, (*labels, *labels.values()))) > MAX_RECORD_BYTES:
        return _EMPTY_TEXT, "It has more labels, or longer labels, than allowed."
    try:
        return format_labels(labels, quoted=False), ""
    except UnwritableLabel:
        return format_writable(labels), "One of its labels holds what no claim can represent."


def _read_text(value: object) -> str | None:
    text = value.get("S") if isinstance(value, dict) and len(value) == 1 else None
    return text if isinstance(text, str) else None


def _read_map(value: object) -> dict[str, str]:
    """What of a map attribute is text."""
    inner = value.get("M") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(inner, dict):
        return {}
    read = {key: _read_text(each) for key, each in inner.items()}
    return {key: text for key, text in read.items() if text is not None}


def _is_map_of_texts(value: object) -> bool:
    inner = value.get("M") if isinstance(value, dict) and len(value) == 1 else None
    return isinstance(inner, dict) and len(_read_map(value)) == len(inner)


def _describe_double(spellings: list[str]) -> str:
    shown = ", ".join(safe_text(each) for each in sorted(spellings)[:_SHOWN_SPELLINGS])
    return f"{len(spellings)} items of the table mean this record set: {shown}."


def _with_problem(item: DynamoDbItem, problem: str) -> DynamoDbItem:
    claim = msgspec.structs.replace(item.claim, problem=item.claim.problem or problem)
    return msgspec.structs.replace(item, claim=claim)
