"""The rows of a ConfigMap registry: `[{"dnsname","owner","target","type"}, ...]`, read and written.

Beside the four fields of the registry proposal a row may have `targets` (all of them, where there are
several), `set` (the set identifier) and `labels`. What else stands in a row is kept.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from providers.wire.canonical_name import canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import RecordTooLarge, WireError, WrongType
from providers.wire.json_reading import (
    STRICT,
    JsonObject,
    collect_fields,
    make_fields,
    parse_json,
    read_text,
    read_texts,
)
from providers.wire.json_shape import split_array, strip_frame
from providers.wire.poison import MAX_RECORD_BYTES, find_poison, safe_text

_KEY_FIELDS = ("dnsName", "recordType", "setIdentifier")
_NO_NAME = "The row does not say which record set it is about"
_ENCODER = msgspec.json.Encoder()
_FIELDS = make_fields("dnsname", "owner", "target", "type", "targets", "set", "labels")


class Row(msgspec.Struct, frozen=True, gc=False):
    """One row as it stands. `raw` is its JSON.

    `owner_id` is empty where the record set is unmanaged, and None where it cannot be read. `problem` says
    why the row cannot be believed.
    """

    key: EndpointKey
    owner_id: str | None
    targets: tuple[str, ...]
    labels: dict[str, str]
    raw: bytes
    problem: str = ""


class UnreadableRow(msgspec.Struct, frozen=True, gc=False):
    """A row that speaks for no record set anybody could tell. It is kept where it stands."""

    raw: bytes
    reason: str


class RowList(msgspec.Struct, frozen=True):
    """All rows of one list, in the order they stand."""

    rows: tuple[Row, ...] = ()
    unreadable: tuple[UnreadableRow, ...] = ()


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What a registry says of one record set. More than one row, or more than one intent, is a mistake."""

    rows: tuple[Row, ...] = ()
    intents: tuple[Row, ...] = ()


NO_ENTRY = Entry()


class _PlainRow(msgspec.Struct, gc=False, omit_defaults=True):
    """A row as we write it."""

    dnsname: str
    owner: str
    target: str
    type: str
    targets: tuple[str, ...] = ()
    set: str = ""
    labels: dict[str, str] = {}


_PLAIN_DECODER = msgspec.json.Decoder(_PlainRow)


def parse_rows(text: str, max_items: int) -> RowList:
    """The rows of a list. Raises WireError where the text is no JSON array: that is no empty list."""
    body = strip_frame(_encode(text))
    if body == b"null":
        return RowList()  # a Go program writes its empty list so
    rows: list[Row] = []
    unreadable: list[UnreadableRow] = []
    for index, raw in enumerate(split_array(body, max_items)):
        row = read_row(raw, f"$[{index}]")
        if isinstance(row, Row):
            rows.append(row)
        else:
            unreadable.append(row)
    return RowList(tuple(rows), tuple(unreadable))


def read_row(raw: bytes, path: str = "$") -> Row | UnreadableRow:
    """The row in a JSON text whose depth is bounded. Raises WireError if it is no JSON at all."""
    plain = _read_plain(raw)
    if plain is None:
        return _read_odd(raw, path)
    return _build(raw, plain, plain.owner)


def group_rows(rows: Sequence[Row], intents: Sequence[Row] = ()) -> dict[EndpointKey, Entry]:
    """Rows and intents by record set, in the order in which the record sets are first named."""
    entries = {row.key: Entry((row,)) for row in rows}
    if len(entries) == len(rows) and not intents:
        return entries  # as nearly always
    groups: dict[EndpointKey, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for row in rows:
        groups[row.key][0].append(row)
    for intent in intents:
        groups[intent.key][1].append(intent)
    return {key: Entry(tuple(found), tuple(meant)) for key, (found, meant) in groups.items()}


def format_rows(raws: Iterable[bytes]) -> str:
    """A list of rows, one a line, as people and old readers find it."""
    body = b",\n".join(raws)
    return f"[\n{body.decode()}\n]" if body else "[]"


def build_row(record: Endpoint, owner_id: str, labels: Mapping[str, str], like: Row | None = None) -> Row:
    """The row of a record set for an owner (empty: unmanaged). Raises InvalidName.

    With `like`, the row that stands there, all in it that is not ours is kept, and its targets too where the
    record set shows none. Raises RecordTooLarge for a row no reader would take.
    """
    targets = record.targets or (like.targets if like else ())
    plain = _PlainRow(
        dnsname=record.dns_name,
        owner=owner_id,
        target=targets[0] if targets else "",
        type=record.record_type,
        targets=targets if len(targets) > 1 else (),
        set=record.set_identifier,
        labels=dict(sorted(labels.items())),
    )
    raw = _ENCODER.encode(plain)
    kept = _read_unknown_fields(like) if like else {}
    if kept:
        raw = _ENCODER.encode({**msgspec.to_builtins(plain), **kept})
    if len(raw) > MAX_RECORD_BYTES:
        raise RecordTooLarge(f"its row would take more than {MAX_RECORD_BYTES} bytes")
    return Row(endpoint_key(record), owner_id, targets, plain.labels, raw)


def has_targets_of(row: Row, record: Row | Endpoint) -> bool:
    """Whether the two name the same targets, as ExternalDNS compares them."""
    if row.targets == record.targets:
        return True
    kind = row.key.record_type
    mine, other = (Endpoint(record_type=kind, targets=each.targets) for each in (row, record))
    return canonical_targets(mine) == canonical_targets(other)


def describe_key(key: EndpointKey) -> str:
    """A record set in words."""
    words = f"{key.name} {key.record_type}"
    return f"{words} ({safe_text(key.set_identifier)})" if key.set_identifier else words


def _read_unknown_fields(row: Row) -> dict[str, object]:
    if row.problem or _read_plain(row.raw) is not None:
        return {}
    found: dict[str, object] = json.loads(row.raw)
    return {key: value for key, value in found.items() if key not in _PlainRow.__struct_fields__}


def _encode(text: str) -> bytes:
    # A lone surrogate cannot come out of strict UTF-8; one that came in as an escape ends here.
    return text.encode(errors="replace")


def _read_plain(raw: bytes) -> _PlainRow | None:
    """The row, if it is just what we would write for it: no second key, no unread field."""
    if len(raw) > MAX_RECORD_BYTES:
        return None
    try:
        plain = _PLAIN_DECODER.decode(raw)
        return plain if _ENCODER.encode(plain) == raw else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _read_odd(raw: bytes, path: str) -> Row | UnreadableRow:
    """A row that somebody else wrote. What cannot be read beside its identity is the row's problem."""
    value = parse_json(raw, path, STRICT)
    if len(raw) > MAX_RECORD_BYTES:
        return UnreadableRow(raw, f"The row takes more than {MAX_RECORD_BYTES} bytes.")
    plain = _PlainRow("", "", "", "")
    owner_id, problem = None, ""
    try:
        # On one line, all else as it was: a map may have no room for what a person indented.
        raw = msgspec.json.format(raw, indent=-1)
        msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        problem = "The row holds half of a surrogate pair, which nobody could write again."
    try:
        if not isinstance(value, JsonObject):
            raise WrongType("it is no object", path)
        found = collect_fields(value, _FIELDS, path, STRICT)
        plain.dnsname = read_text(found.get("dnsname"), path)
        plain.type = read_text(found.get("type"), path)
        plain.set = read_text(found.get("set"), path)
    except WireError as error:
        return UnreadableRow(raw, f"{_NO_NAME}: {error.reason}.")
    try:
        owner_id = read_text(found.get("owner"), f"{path}.owner")
        plain.target = read_text(found.get("target"), f"{path}.target")
        plain.targets = read_texts(found.get("targets"), f"{path}.targets")
        plain.labels = _read_labels(found.get("labels"), f"{path}.labels")
    except WireError as error:
        problem = f"The row cannot be read: {error.reason}."
    return _build(raw, plain, owner_id, problem)


def _read_labels(value: object, path: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, JsonObject):
        raise WrongType("an object was expected for the labels", path)
    labels = {read_text(key, path): read_text(each, path) for key, each in value}
    if len(labels) != len(value):
        raise WrongType("a label is repeated", path)
    return labels


def _build(raw: bytes, plain: _PlainRow, owner_id: str | None, problem: str = "") -> Row | UnreadableRow:
    targets = plain.targets or ((plain.target,) if plain.target else ())
    record = Endpoint(
        dns_name=plain.dnsname,
        targets=targets,
        record_type=plain.type,
        set_identifier=plain.set,
        labels=plain.labels,
    )
    poison = find_poison(record)
    if poison is not None and poison.field in _KEY_FIELDS:
        return UnreadableRow(raw, f"{_NO_NAME}: {safe_text(poison.reason)}.")
    if not plain.type:
        return UnreadableRow(raw, f"{_NO_NAME}: it has no type.")
    if poison is not None:
        problem = problem or f"The row is not valid: {poison.reason}."
        record = msgspec.structs.replace(record, targets=(), labels={})
    if targets and plain.target != targets[0]:
        problem = problem or "The row names another target in `target` than first in `targets`."
    return Row(endpoint_key(record), owner_id, record.targets, record.labels, raw, problem)
