"""The rows of a ConfigMap registry: `[{"dnsname","owner","target","type"}, ...]`, read and written.

Beside the four fields of the registry proposal a row may have `targets` (all of them, where there are
several), `set` (the set identifier) and `labels`. What else stands in a row is kept.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from providers.wire.canonical_name import canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import RecordTooLarge, WireError
from providers.wire.json_reading import (
    STRICT,
    JsonObject,
    collect_fields,
    make_fields,
    parse_json,
    read_labels,
    read_text,
    read_texts,
)
from providers.wire.json_shape import split_array, strip_frame
from providers.wire.poison import MAX_RECORD_BYTES, find_poison, safe_text

_KEY_FIELDS = ("dnsName", "recordType", "setIdentifier")


# Where rows are whose record set cannot be read: after all others, and in no range of them.
NO_KEY = EndpointKey("\U0010ffff", "", "")


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


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What a registry says of one record set. More than one row, or more than one intent, is a mistake."""

    rows: tuple[Row, ...] = ()
    intents: tuple[Row, ...] = ()

    def __len__(self) -> int:
        return len(self.rows) + len(self.intents)

    def __add__(self, other: "Entry") -> "Entry":
        """Both, valid rows first."""
        rows, intents = (
            tuple(sorted(each, key=lambda row: bool(row.problem)))
            for each in (self.rows + other.rows, self.intents + other.intents)
        )
        return Entry(rows, intents)

    def with_problem(self, problem: str) -> "Entry":
        """With this problem in all rows that have none."""
        rows, intents = (
            tuple(msgspec.structs.replace(row, problem=row.problem or problem) for row in each)
            for each in (self.rows, self.intents)
        )
        return Entry(rows, intents)

    def says_the_same_as(self, other: "Entry") -> bool:
        """Whether nothing would be another by writing one in place of the other."""
        if (len(self.rows), len(self.intents)) != (len(other.rows), len(other.intents)):
            return False
        pairs = zip(self.rows + self.intents, other.rows + other.intents, strict=True)
        return all(
            old is new
            or ((old.owner_id, old.labels) == (new.owner_id, new.labels) and has_targets_of(old, new))
            for old, new in pairs
        )


NO_ENTRY = Entry()


class _Fields(msgspec.Struct, gc=False, omit_defaults=True):
    """The fields of a row as we write them."""

    dnsname: str
    owner: str
    target: str
    type: str
    targets: tuple[str, ...] = ()
    set: str = ""
    labels: dict[str, str] = {}


_ENCODER = msgspec.json.Encoder()
_FIELDS_DECODER = msgspec.json.Decoder(_Fields)
_RAW_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NAMES = make_fields(*_Fields.__struct_fields__)


def parse_rows(text: str, max_items: int) -> list[Row]:
    """The rows of a list. Raises WireError where the text is no JSON array: that is no empty list."""
    body = strip_frame(text.encode(errors="replace"))
    if body == b"null":
        return []  # a Go program writes its empty list so
    return [_read_row(raw) for raw in split_array(body, max_items)]


def format_rows(raws: Iterable[bytes]) -> str:
    """The text of a list, one row on each line."""
    lines = b",\n".join(raws)
    return f"[\n{lines.decode()}\n]" if lines else "[]"


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


def build_row(record: Endpoint, owner_id: str, labels: Mapping[str, str], like: Row | None = None) -> Row:
    """The row of a record set, with an empty owner id for no owner.

    Of `like`, the row that stands there, all in it that is not ours is kept, and its targets too where the
    record set shows none. Raises RecordTooLarge for a row no reader would take.
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
    standing = _RAW_DECODER.decode(like.raw) if like and not like.problem else {}
    others = {key: value for key, value in standing.items() if key not in _Fields.__struct_fields__}
    raw = _ENCODER.encode({**msgspec.to_builtins(fields), **others} if others else fields)
    if len(raw) > MAX_RECORD_BYTES:
        raise RecordTooLarge(f"its row would take more than {MAX_RECORD_BYTES} bytes")
    return Row(endpoint_key(record), owner_id, targets, fields.labels, raw)


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


def _read_row(raw: bytes) -> Row:
    """A row. Raises WireError if it is no JSON at all."""
    if len(raw) <= MAX_RECORD_BYTES:
        try:
            fields = _FIELDS_DECODER.decode(raw)
            if _ENCODER.encode(fields) == raw:
                return _check_row(raw, fields, fields.owner)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            pass  # not as we write it
    return _read_foreign_row(raw)


def _read_foreign_row(raw: bytes) -> Row:
    """A row that is not as we write it. What cannot be read beside its record set is the row's problem."""
    value = parse_json(raw, "$", STRICT)
    if len(raw) > MAX_RECORD_BYTES or not isinstance(value, JsonObject):
        return _build_keyless(raw)
    try:
        known = collect_fields(value, _NAMES, "$", STRICT)
        name, kind, identifier = (read_text(known.get(key), key) for key in ("dnsname", "type", "set"))
    except WireError:
        return _build_keyless(raw)  # a key twice, or in another case: a Go program reads keys in any case
    fields, owner_id, problem = _Fields(name, "", "", kind, set=identifier), None, ""
    try:
        # On one line, all else as it was: a map may have no room for what a person indented.
        raw = msgspec.json.format(raw, indent=-1)
        owner_id = read_text(known.get("owner"), "owner")
        target, targets = (known.get(key) for key in ("target", "targets"))
        fields = _Fields(
            name,
            owner_id,
            read_text(target, "target"),
            kind,
            read_texts(targets, "targets"),
            identifier,
            read_labels(known.get("labels"), "labels", STRICT),
        )
        msgspec.json.decode(raw)  # half of a surrogate pair may stand in whatever is not ours
    except (WireError, msgspec.MsgspecError) as error:
        problem = f"The row cannot be read: {error}."
    return _check_row(raw, fields, owner_id, problem)


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
    if not fields.type or (poison is not None and poison.field in _KEY_FIELDS):
        return _build_keyless(raw)
    if poison is not None:
        problem = problem or f"The row is not valid: {poison.reason}."
        record = msgspec.structs.replace(record, targets=(), labels={})
    if targets and fields.target != targets[0]:
        problem = problem or "The row names another target in `target` than first in `targets`."
    return Row(endpoint_key(record), owner_id, record.targets, record.labels, raw, problem)


def _build_keyless(raw: bytes) -> Row:
    return Row(NO_KEY, "", (), {}, raw, "The row does not say which record set it is about.")
