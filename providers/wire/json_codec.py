"""JSON to values and back: what we write, and the strict reading of what we act on.

A server or a guard reads a body it will act on or pass on: it refuses all that two programs could read in
two ways, and what it passes on is encoded again from the values (guard rule G11).
"""

from collections.abc import Iterable

import msgspec

from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from providers.wire.errors import NotAnArray, WrongType
from providers.wire.json_reading import (
    STRICT,
    JsonObject,
    collect_fields,
    make_fields,
    parse_json,
    read_endpoints,
)
from providers.wire.json_shape import raise_if_malformed, raise_if_too_many, strip_frame
from providers.wire.record_codec import (
    BRACES_PER_ITEM,
    DECODE_ERRORS,
    DecodedRecords,
    SetAside,
    decode_records,
)

__all__ = [
    "MEDIA_TYPES",
    "PLUGIN_MEDIA_TYPE",
    "WEBHOOK_MEDIA_TYPE",
    "DecodedRecords",
    "SetAside",
    "decode_change_set_strict",
    "decode_endpoints_strict",
    "decode_records",
    "encode_change_set",
    "encode_domain_filter",
    "encode_endpoints",
]

# The media types of the two protocols. ExternalDNS compares them as one exact string: a charset, a space or
# another case is another type.
WEBHOOK_MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
PLUGIN_MEDIA_TYPE = "application/external.dns.plugin+json;version=1"
MEDIA_TYPES = frozenset({WEBHOOK_MEDIA_TYPE, PLUGIN_MEDIA_TYPE})

_CHANGE_KEYS = ("create", "updateOld", "updateNew", "delete")
# What ExternalDNS wrote until May 2025.
_CAPITALIZED_CHANGE_KEYS = ("Create", "UpdateOld", "UpdateNew", "Delete")
_CHANGE_FIELDS = make_fields(*_CHANGE_KEYS)
_CAPITALIZED_CHANGE_FIELDS = make_fields(*_CAPITALIZED_CHANGE_KEYS)

_ENCODER = msgspec.json.Encoder()
_ENDPOINTS_DECODER = msgspec.json.Decoder(tuple[Endpoint, ...])
_CHANGE_SET_DECODER = msgspec.json.Decoder(ChangeSet)


def encode_endpoints(endpoints: Iterable[Endpoint]) -> bytes:
    """An array of endpoints, `[]` for none."""
    return _ENCODER.encode(tuple(endpoints))


def encode_change_set(change_set: ChangeSet, *, capitalized_keys: bool = False) -> bytes:
    """A Changes object with all four lists. `capitalized_keys` is for providers built before May 2025."""
    keys = _CAPITALIZED_CHANGE_KEYS if capitalized_keys else _CHANGE_KEYS
    return _ENCODER.encode(dict(zip(keys, _lists_of(change_set), strict=True)))


def encode_domain_filter(domain_filter: DomainFilter) -> bytes:
    """The answer of the negotiate call; empty lists and patterns are left out."""
    return _ENCODER.encode(domain_filter)


def decode_endpoints_strict(body: bytes, *, max_items: int) -> tuple[Endpoint, ...]:
    """Read an array of endpoints that will be acted on. Raises WireError for all that is ambiguous.

    Only the shape is judged. `find_poison` judges names, lengths and TTLs.
    """
    text = strip_frame(body)
    if text == b"null":
        return ()
    if not text.startswith(b"["):
        raise NotAnArray("an array was expected, the body is something else")
    endpoints = _decode_canonical_endpoints(text, max_items)
    if endpoints is None:
        raise_if_malformed(text, item_depth=1, max_items=max_items)
        endpoints = read_endpoints(parse_json(text, "$", STRICT), "$", STRICT)
    raise_if_too_many(len(endpoints), max_items)
    return endpoints


def decode_change_set_strict(body: bytes, *, max_items: int) -> ChangeSet:
    """Read a Changes object that will be acted on, all of it in one of the two spellings.

    Raises WireError for all that is ambiguous. `max_items` bounds the four lists together.
    """
    text = strip_frame(body)
    if text == b"null":
        return ChangeSet()
    if not text.startswith(b"{"):
        raise WrongType("an object was expected, the body is something else")
    change_set = _decode_canonical_change_set(text, max_items)
    if change_set is None:
        raise_if_malformed(text, item_depth=2, max_items=max_items)
        change_set = _read_change_set(parse_json(text, "$", STRICT))
    raise_if_too_many(sum(map(len, _lists_of(change_set))), max_items)
    return change_set


def _lists_of(change_set: ChangeSet) -> tuple[tuple[Endpoint, ...], ...]:
    return change_set.create, change_set.update_old, change_set.update_new, change_set.delete


def _read_change_set(value: object) -> ChangeSet:
    pairs = value if isinstance(value, JsonObject) else JsonObject()
    capitalized = any(key in _CAPITALIZED_CHANGE_KEYS for key, _ in pairs)
    keys = _CAPITALIZED_CHANGE_KEYS if capitalized else _CHANGE_KEYS
    fields = _CAPITALIZED_CHANGE_FIELDS if capitalized else _CHANGE_FIELDS
    found = collect_fields(pairs, fields, "$", STRICT)
    return ChangeSet(*(read_endpoints(found.get(key), f"$.{key}", STRICT) for key in keys))


def _decode_canonical_endpoints(text: bytes, max_items: int) -> tuple[Endpoint, ...] | None:
    """The endpoints of a body that is just what we would write for them; None for any other."""
    if text.count(b"{") > max_items * BRACES_PER_ITEM:
        return None
    try:
        endpoints = _ENDPOINTS_DECODER.decode(text)
    except DECODE_ERRORS:
        return None
    return endpoints if _ENCODER.encode(endpoints) == text else None


def _decode_canonical_change_set(text: bytes, max_items: int) -> ChangeSet | None:
    """The change set of a body that is just what we, or ExternalDNS, would write for it; or None."""
    if text.count(b"{") > max_items * BRACES_PER_ITEM:
        return None
    try:
        change_set = _CHANGE_SET_DECODER.decode(text)
    except DECODE_ERRORS:
        return None
    by_key = dict(zip(_CHANGE_KEYS, _lists_of(change_set), strict=True))
    # ExternalDNS leaves empty lists out, we write them.
    spellings = (by_key, {key: endpoints for key, endpoints in by_key.items() if endpoints})
    return change_set if any(_ENCODER.encode(spelling) == text for spelling in spellings) else None
