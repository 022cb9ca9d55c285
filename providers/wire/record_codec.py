"""Reading what a provider lists, for the mirror: as ExternalDNS reads it, one bad record at a time.

Short cut: decode all with msgspec, encode again, compare. A body equal to our own encoding of what was
read holds nothing else: no second key, no other spelling, no unread field. Go writes endpoints in just
that form. Any other body, and any with poison in it, is taken apart item by item.
"""

import json
import re
from collections.abc import Iterator

import msgspec
import re2

from providers.wire.canonical_name import MAX_NAME_LENGTH
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.errors import RecordTooLarge, WireError
from providers.wire.json_reading import ENDPOINT_KEYS, LENIENT, PROPERTY_KEYS, parse_json, read_endpoint
from providers.wire.json_shape import raise_if_too_many, split_array, strip_frame
from providers.wire.poison import (
    MAX_LABELS,
    MAX_PROPERTIES,
    MAX_RECORD_BYTES,
    MAX_RECORD_TYPE_LENGTH,
    MAX_SET_IDENTIFIER_LENGTH,
    MAX_TARGETS,
    MAX_TTL,
    find_poison,
    safe_text,
)

_ENCODER = msgspec.json.Encoder()
_ENDPOINT_DECODER = msgspec.json.Decoder(Endpoint)
_ENDPOINTS_DECODER = msgspec.json.Decoder(list[Endpoint])
# Decoding can fail in these ways on hostile input; each sends the body to the slow path, which says why.
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# A record opens itself, its labels and seldom more. Bodies with more braces are counted before decoding.
BRACES_PER_ITEM = 3
# Control characters, raw or escaped. A doubled backslash before the letter also matches: a match only
# means that every record is looked at closely. RE2, because it scans a whole body in a few milliseconds.
_MAYBE_CONTROL = re2.compile(rb"\\[bfnrt]|\\u00[0189]|\\u007|[\x{7f}-\x{9f}]").search
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_*-]{1,63}+(?:\.[A-Za-z0-9_*-]{1,63}+)*+").fullmatch
# Of several the last one counts, as in Go. Escapes stay: the text is decoded as JSON.
_NAMES_IN_RAW = re.compile(rb'(?i:"dnsName")\s{0,8}:\s{0,8}("(?:[^"\\]|\\.){1,1024}+")').findall
# Endpoints that are encoded at a time, to compare them with the body.
_SLICE = 1_000
_KEYS = (*ENDPOINT_KEYS, *PROPERTY_KEYS)
_QUOTED_KEYS = tuple(f'"{key}"'.encode() for key in _KEYS)


def _spell_wrongly(key: str) -> Iterator[str]:
    """Patterns that together match each spelling of the key in other cases, but not the key itself."""
    for index, letter in enumerate(key):
        yield f"{key[:index]}{letter.swapcase()}(?i:{key[index + 1 :]})"


# Keys that msgspec would pass by and Go would not: in another case, or spelled with escapes or with the
# long s. (RE2 has no look-ahead, hence the enumeration.)
_ODD_KEY = re2.compile(
    rb"\\u00[4-7]|\\u017|\x{17f}|"
    + f'"(?:{"|".join(p for key in _KEYS for p in _spell_wrongly(key))})"'.encode()
).search


class _NullableEndpoint(
    msgspec.Struct,
    gc=False,
    rename=dict(zip(Endpoint.__struct_fields__, Endpoint.__struct_encode_fields__, strict=True)),
):
    """An endpoint whose sender wrote `null` for what is absent."""

    dns_name: str | None = None
    targets: tuple[str, ...] | None = None
    record_type: str | None = None
    set_identifier: str | None = None
    record_ttl: int | None = None
    labels: dict[str, str] | None = None
    provider_specific: tuple[ProviderSpecificProperty, ...] | None = None


_NULLABLE_DECODER = msgspec.json.Decoder(_NullableEndpoint)


class SetAside(msgspec.Struct, frozen=True):
    """One item of a snapshot that did not enter it.

    `path` is where it is (`$[17].recordTTL`), `name` its name as printable text, as far as it has one.
    """

    index: int
    path: str
    name: str
    reason: str


class DecodedRecords(msgspec.Struct, frozen=True):
    """All a provider listed: the endpoints fit for the mirror, and those that are not."""

    endpoints: list[Endpoint]
    set_aside: list[SetAside]


def decode_records(body: bytes, *, max_items: int) -> DecodedRecords:
    """Read the answer of `GET /records`.

    Every endpoint returned has an `endpoint_key`; every other item is set aside alone, with its reason.
    Raises WireError when the body as a whole cannot be trusted: not an array (`null` is an empty one),
    cut short, followed by something, too deep, too many items.
    """
    text = strip_frame(body)
    if text == b"null":
        return DecodedRecords([], [])
    endpoints = _decode_canonical(text, max_items)
    if endpoints is not None:
        return DecodedRecords(endpoints, [])
    return _decode_one_by_one(text, max_items)


def _decode_canonical(text: bytes, max_items: int) -> list[Endpoint] | None:
    """All endpoints of a body that is just what we would write for them, without poison; or None."""
    if text.count(b"{") > max_items * BRACES_PER_ITEM or _MAYBE_CONTROL(text):
        return None
    try:
        endpoints = _ENDPOINTS_DECODER.decode(text)
    except DECODE_ERRORS:
        return None
    raise_if_too_many(len(endpoints), max_items)
    if not _is_written_as(endpoints, text):
        return None
    if any(not _is_plain(endpoint) and find_poison(endpoint) for endpoint in endpoints):
        return None
    return endpoints


def _is_written_as(endpoints: list[Endpoint], text: bytes) -> bool:
    """Whether this is what we would write for the endpoints, none of it too large. Slice by slice: together
    the encoded endpoints would be as large as the body."""
    position = 1
    for start in range(0, len(endpoints), _SLICE):
        lines = _ENCODER.encode_lines(endpoints[start : start + _SLICE])
        if len(lines) > MAX_RECORD_BYTES and max(map(len, lines.split(b"\n"))) > MAX_RECORD_BYTES:
            return False
        # Each line ends in a line feed where the array has a comma, but for its last item.
        end = b"," if start + _SLICE < len(endpoints) else b"]"
        if not text.startswith(lines[:-1].replace(b"\n", b",") + end, position):
            return False
        position += len(lines)
    return position == len(text) if endpoints else text == b"[]"


def _decode_one_by_one(text: bytes, max_items: int) -> DecodedRecords:
    # Asked of the whole body first, the answer is nearly always no, and then holds for each record.
    may_have_odd_keys = _ODD_KEY(text) is not None
    may_have_controls = _MAYBE_CONTROL(text) is not None
    endpoints: list[Endpoint] = []
    set_aside: list[SetAside] = []
    for index, raw in enumerate(split_array(text, max_items)):
        path = f"$[{index}]"
        try:
            endpoint = _read_record(raw, path, may_have_odd_keys=may_have_odd_keys)
        except WireError as error:
            set_aside.append(_set_aside(raw, index, error))
            continue
        poison = None if _is_plain(endpoint) and not may_have_controls else find_poison(endpoint)
        if poison is None:
            endpoints.append(endpoint)
        else:
            name = safe_text(endpoint.dns_name)
            set_aside.append(SetAside(index, f"{path}.{poison.field}", name, poison.reason))
    return DecodedRecords(endpoints, set_aside)


def _read_record(raw: bytes, path: str, *, may_have_odd_keys: bool) -> Endpoint:
    if len(raw) > MAX_RECORD_BYTES:
        raise RecordTooLarge(f"a record of more than {MAX_RECORD_BYTES} bytes", path)
    if not (may_have_odd_keys and _ODD_KEY(raw)):
        try:
            endpoint = _read_usual_record(raw)
        except DECODE_ERRORS:
            endpoint = None  # the reading below says what is wrong, and where
        if endpoint is not None:
            return endpoint
    return read_endpoint(parse_json(raw, path, LENIENT), path, LENIENT)


def _read_usual_record(raw: bytes) -> Endpoint | None:
    """The endpoint in a record without odd keys; None if repeated keys need Go's reading."""
    if b"null" not in raw:
        # Of other repeated keys the last wins for msgspec as it does for Go; labels Go merges.
        return None if raw.count(b'"labels"') > 1 else _ENDPOINT_DECODER.decode(raw)
    if any(raw.count(key) > 1 for key in _QUOTED_KEYS):
        return None
    found = _NULLABLE_DECODER.decode(raw)
    return Endpoint(
        dns_name=found.dns_name or "",
        targets=found.targets or (),
        record_type=found.record_type or "",
        set_identifier=found.set_identifier or "",
        record_ttl=found.record_ttl or 0,
        labels=found.labels or {},
        provider_specific=found.provider_specific or (),
    )


def _set_aside(raw: bytes, index: int, error: WireError) -> SetAside:
    return SetAside(index, safe_text(error.path), safe_text(_find_name(raw)), error.reason)


def _find_name(raw: bytes) -> str:
    """The name in an item that could not be read as a whole; empty if it has none that can be read."""
    names = _NAMES_IN_RAW(raw[:MAX_RECORD_BYTES])
    try:
        name = json.loads(names[-1].decode(errors="replace"), strict=False) if names else ""
    except json.JSONDecodeError:
        return ""
    return name if isinstance(name, str) else ""


def _is_plain(endpoint: Endpoint) -> bool:
    """True for nearly all records: nothing in them that `find_poison` could object to."""
    return (
        _PLAIN_NAME(endpoint.dns_name) is not None
        and len(endpoint.dns_name) <= MAX_NAME_LENGTH
        and 0 <= endpoint.record_ttl <= MAX_TTL
        and len(endpoint.targets) <= MAX_TARGETS
        and len(endpoint.labels) <= MAX_LABELS
        and len(endpoint.provider_specific) <= MAX_PROPERTIES
        and len(endpoint.record_type) <= MAX_RECORD_TYPE_LENGTH
        and len(endpoint.set_identifier) <= MAX_SET_IDENTIFIER_LENGTH
    )
