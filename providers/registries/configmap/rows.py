"""The rows of a ConfigMap registry: `[{"dnsname","owner","target","type"}, ...]`, read and written.

Beside the four fields of the registry proposal a row may have `targets` (all of them, where there are
several), `set` (the set identifier) and `labels`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from providers.wire.canonical_name import canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import RecordTooLarge, UndecodableBody
from providers.wire.json_shape import split_array, strip_frame
from providers.wire.poison import MAX_RECORD_BYTES, MAX_SAFE_TEXT_LENGTH, find_poison, safe_text

_KEY_FIELDS = ("dnsName", "recordType", "setIdentifier")


class Row(msgspec.Struct, frozen=True, gc=False):
    """One row as it stands. `raw` is its JSON.

    `owner_id` is empty where the record set is unmanaged, and None where it cannot be read. `problem` says
    why the row is not valid.
    """

    key: EndpointKey
    owner_id: str | None
    targets: tuple[str, ...]
    labels: dict[str, str]
    raw: bytes
    problem: str = ""


class Entry(NamedTuple):
    """What a registry says of one record set. More than one row, or more than one intent, is a mistake."""

    rows: tuple[Row, ...] = ()
    intents: tuple[Row, ...] = ()

    @property
    def all_rows(self) -> tuple[Row, ...]:
        return self.rows + self.intents


NO_ENTRY = Entry()
Entries = Mapping[EndpointKey, Entry]


class _Fields(msgspec.Struct, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of a row as we write them."""

    dnsname: str
    owner: str
    target: str
    type: str
    targets: tuple[str, ...] = ()
    set: str = ""
    labels: dict[str, str] = {}


class _KeyFields(msgspec.Struct, gc=False):
    """The fields that say which record set a row is about."""

    dnsname: str
    type: str
    set: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Fields)
_KEY_DECODER = msgspec.json.Decoder(_KeyFields)


def parse_rows(text: str, max_items: int) -> list[Row]:
    """The rows of a list. Raises WireError where the text is no JSON array: that is no empty list."""
    try:
        body = msgspec.json.format(strip_frame(text.encode(errors="replace")), indent=-1)
    except (msgspec.MsgspecError, RecursionError):
        raise UndecodableBody("it is not JSON, or nested too deep") from None
    # A Go program writes its empty list as `null`.
    return [] if body == b"null" else [_read_row(raw) for raw in split_array(body, max_items)]


def format_rows(raws: Iterable[bytes]) -> str:
    """The text of a list, one row on each line."""
    lines = b",\n".join(raws)
    return f"[\n{lines.decode()}\n]" if lines else "[]"


def group_rows(rows: Iterable[Row], intents: Iterable[Row] = ()) -> dict[EndpointKey, Entry]:
    """Rows and intents by record set, in the order in which the record sets are first named."""
    entries: dict[EndpointKey, Entry] = {}
    for row in rows:
        known = entries.get(row.key)
        entries[row.key] = Entry((*known.rows, row) if known else (row,))
    for intent in intents:
        entry = entries.get(intent.key, NO_ENTRY)
        entries[intent.key] = Entry(entry.rows, (*entry.intents, intent))
    return entries


def build_row(record: Endpoint, owner_id: str, labels: Mapping[str, str], like: Row | None = None) -> Row:
    """The row of a record set, with an empty owner id for no owner.

    It has the targets of `like`, the row that stands there, where the record set shows none. Raises
    RecordTooLarge for a row no reader would take.
    """
    targets = record.targets or (like.targets if like else ())
    fields = _Fields(
        dnsname=record.dns_name,
        owner=owner_id,
        target=targets[0] if targets else "",
        type=record.record_type,
        targets=targets if len(targets) > 1 else (),
        set=record.set_identifier,
        labels=dict(sorted(labels.items())),
    )
    raw = _ENCODER.encode(fields)
    if len(raw) > MAX_RECORD_BYTES:
        raise RecordTooLarge(f"its row would take more than {MAX_RECORD_BYTES} bytes")
    return Row(endpoint_key(record), owner_id, targets, fields.labels, raw)


def has_targets_of(row: Row, record: Row | Endpoint) -> bool:
    """Whether the two name the same targets, as ExternalDNS compares them."""
    kind = row.key.record_type
    mine, other = (Endpoint(record_type=kind, targets=each.targets) for each in (row, record))
    return row.targets == record.targets or canonical_targets(mine) == canonical_targets(other)


def describe_key(key: EndpointKey) -> str:
    """A record set in words."""
    words = f"{safe_text(key.name)} {safe_text(key.record_type)}"
    return f"{words} ({safe_text(key.set_identifier)})" if key.set_identifier else words


def _read_row(raw: bytes) -> Row:
    """A row. What cannot be read beside its record set, or is not ours, is its problem: it stays as it is."""
    try:
        fields = _DECODER.decode(raw)
        return _check_row(raw, fields, fields.owner)
    except msgspec.ValidationError as error:
        problem = f"The row cannot be read: {error}."
    try:
        known = _KEY_DECODER.decode(raw)
    except msgspec.ValidationError:
        return _build_keyless(raw)
    return _check_row(raw, _Fields(known.dnsname, "", "", known.type, set=known.set), None, problem)


def _check_row(raw: bytes, fields: _Fields, owner_id: str | None, problem: str = "") -> Row:
    targets = fields.targets or ((fields.target,) if fields.target else ())
    record = Endpoint(
        dns_name=fields.dnsname,
        targets=targets,
        record_type=fields.type,
        set_identifier=fields.set,
        labels=fields.labels,
    )
    poison = find_poison(record)
    is_keyless = poison is not None and poison.field in _KEY_FIELDS
    if is_keyless or not fields.type or len(raw) > MAX_RECORD_BYTES:
        return _build_keyless(raw)
    if poison is not None:
        problem = problem or f"The row is not valid: {poison.reason}."
        record = msgspec.structs.replace(record, targets=(), labels={})
    if targets and fields.target != targets[0]:
        problem = problem or "The row names another target in `target` than first in `targets`."
    return Row(endpoint_key(record), owner_id, record.targets, record.labels, raw, problem)


def _build_keyless(raw: bytes) -> Row:
    """A row in a place of its own: no record set has an empty type."""
    place = EndpointKey(safe_text(raw[:MAX_SAFE_TEXT_LENGTH].decode(errors="replace")), "", "")
    return Row(place, "", (), {}, raw, "The row does not say which record set it is about.")
