"""Reading one JSON object the way ExternalDNS, a Go program, reads it.

Go matches keys without regard to case, and of several that match the last one wins. `LENIENT` reads
just so, for the mirror, which must see what ExternalDNS sees. `STRICT` refuses what can be read in two
ways, for a body that is checked and then passed on.
"""

import json
import re
from typing import Literal, NoReturn

import msgspec

from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.errors import AmbiguousKeys, UndecodableBody, WrongType

Reading = Literal["lenient", "strict"]
LENIENT: Reading = "lenient"
STRICT: Reading = "strict"

ENDPOINT_KEYS = Endpoint.__struct_encode_fields__
PROPERTY_KEYS = ProviderSpecificProperty.__struct_encode_fields__

# Go's field is a 64-bit integer, which has at most 19 digits.
_MAX_DIGITS = 20
_MAX_TTL_ON_THE_WIRE = 2**63 - 1
_SURROGATE = re.compile("[\ud800-\udfff]").search
_MAX_KEY_IN_PATH = 63


class JsonObject(list[tuple[str, object]]):
    """A JSON object with every key it came with, in order, repeated ones included."""


class Fields(msgspec.Struct, frozen=True):
    """The keys an object may have, and how a repeated one is read."""

    by_folded_key: dict[str, str]
    # Go leaves a text or a number as it was when `null` comes after it...
    kept_over_null: frozenset[str] = frozenset()
    # ...and reads a repeated map into the one it already has.
    merged: frozenset[str] = frozenset()


def make_fields(*keys: str, kept_over_null: tuple[str, ...] = (), merged: tuple[str, ...] = ()) -> Fields:
    """The description of an object with these keys."""
    return Fields({fold_key(key): key for key in keys}, frozenset(kept_over_null), frozenset(merged))


def fold_key(key: str) -> str:
    """The key as Go compares it: Unicode's simple folding also makes the long s (U+017F) an s."""
    return key.replace("\u017f", "s").lower()


_ENDPOINT_FIELDS = make_fields(
    *ENDPOINT_KEYS,
    kept_over_null=("dnsName", "recordType", "setIdentifier", "recordTTL"),
    merged=("labels",),
)
_PROPERTY_FIELDS = make_fields(*PROPERTY_KEYS, kept_over_null=PROPERTY_KEYS)


def parse_json(raw: bytes, path: str, reading: Reading) -> object:
    """Parse a text whose depth is already known to be bounded. Raises UndecodableBody only.

    In the lenient reading broken UTF-8 becomes surrogates, which `read_text` refuses where they matter.
    """
    try:
        return json.loads(
            raw.decode(errors="strict" if reading == STRICT else "surrogateescape"),
            object_pairs_hook=JsonObject,
            parse_int=_parse_whole_number,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise UndecodableBody(f"byte {error.start} is not UTF-8", path) from None
    except json.JSONDecodeError as error:
        raise UndecodableBody(f"not JSON at character {error.pos}", path) from None
    except _NotANumber:
        raise UndecodableBody("NaN and Infinity are not JSON", path) from None


def read_endpoint(value: object, path: str, reading: Reading) -> Endpoint:
    """An endpoint out of a parsed value. Raises WrongType, and AmbiguousKeys when strict."""
    found = collect_fields(_read_object(value, path), _ENDPOINT_FIELDS, path, reading)
    properties = _read_list(found.get("providerSpecific"), f"{path}.providerSpecific")
    return Endpoint(
        dns_name=read_text(found.get("dnsName"), f"{path}.dnsName"),
        targets=read_texts(found.get("targets"), f"{path}.targets"),
        record_type=read_text(found.get("recordType"), f"{path}.recordType"),
        set_identifier=read_text(found.get("setIdentifier"), f"{path}.setIdentifier"),
        record_ttl=_read_ttl(found.get("recordTTL"), f"{path}.recordTTL"),
        labels=read_labels(found.get("labels"), f"{path}.labels", reading),
        provider_specific=tuple(
            _read_property(item, f"{path}.providerSpecific[{index}]", reading)
            for index, item in enumerate(properties)
        ),
    )


def read_endpoints(value: object, path: str, reading: Reading) -> tuple[Endpoint, ...]:
    """An array of endpoints, or `null` for an empty one."""
    return tuple(
        read_endpoint(item, f"{path}[{index}]", reading) for index, item in enumerate(_read_list(value, path))
    )


def collect_fields(pairs: JsonObject, fields: Fields, path: str, reading: Reading) -> dict[str, object]:
    """The value of each known key. Unknown keys are ignored, whatever they hold."""
    found: dict[str, object] = {}
    for key, value in pairs:
        name = fields.by_folded_key.get(fold_key(key))
        if name is None:
            continue
        if reading == STRICT and (key != name or name in found):
            raise AmbiguousKeys(f"the key {name!r} is repeated or spelled in another case", f"{path}.{name}")
        found[name] = _merge(found[name], value, name, fields) if name in found else value
    return found


def _merge(before: object, value: object, name: str, fields: Fields) -> object:
    if value is None and name in fields.kept_over_null:
        return before
    if name in fields.merged and isinstance(before, JsonObject) and isinstance(value, JsonObject):
        return JsonObject([*before, *value])
    return value


def read_text(value: object, path: str) -> str:
    """A string, or `null` for an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongType(f"a string was expected, but {_name_type(value)} was found", path)
    if _SURROGATE(value):
        raise UndecodableBody("not Unicode text: broken UTF-8 or half of a surrogate pair", path)
    return value


def read_texts(value: object, path: str) -> tuple[str, ...]:
    """An array of strings, or `null` for an empty one."""
    items = _read_list(value, path)
    for index, item in enumerate(items):
        if item is None:
            raise WrongType("a string was expected, but null was found", f"{path}[{index}]")
    return tuple(read_text(item, f"{path}[{index}]") for index, item in enumerate(items))


def _read_ttl(value: object, path: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"a whole number was expected, but {_name_type(value)} was found", path)
    if not -_MAX_TTL_ON_THE_WIRE <= value <= _MAX_TTL_ON_THE_WIRE:
        raise WrongType("the number does not fit in 64 bits", path)
    return value


def read_labels(value: object, path: str, reading: Reading) -> dict[str, str]:
    """A map of texts, or `null` for an empty one."""
    if value is None:
        return {}
    labels: dict[str, str] = {}
    for key, text in _read_object(value, path):
        place = f"{path}.{key[:_MAX_KEY_IN_PATH]!a}"
        if reading == STRICT and key in labels:
            raise AmbiguousKeys("the label is repeated", place)
        if reading == STRICT and text is None:
            raise WrongType("a string was expected, but null was found", place)
        labels[read_text(key, place)] = read_text(text, place)
    return labels


def _read_property(value: object, path: str, reading: Reading) -> ProviderSpecificProperty:
    found = collect_fields(_read_object(value, path), _PROPERTY_FIELDS, path, reading)
    return ProviderSpecificProperty(
        name=read_text(found.get("name"), f"{path}.name"),
        value=read_text(found.get("value"), f"{path}.value"),
    )


def _read_object(value: object, path: str) -> JsonObject:
    if not isinstance(value, JsonObject):
        raise WrongType(f"an object was expected, but {_name_type(value)} was found", path)
    return value


def _read_list(value: object, path: str) -> list[object]:
    if value is None:
        return []
    if isinstance(value, JsonObject) or not isinstance(value, list):
        raise WrongType(f"an array was expected, but {_name_type(value)} was found", path)
    return value


def _name_type(value: object) -> str:
    """What is there, by its type alone: a value from outside never enters a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "another number" if isinstance(value, float) else "a number"
    return "an object" if isinstance(value, JsonObject) else "an array"


class _NotANumber(ValueError):
    """One of the constants Python reads and JSON does not have."""


def _refuse_constant(_constant: str) -> NoReturn:
    raise _NotANumber


def _parse_whole_number(digits: str) -> int | float:
    # Python refuses to turn thousands of digits into an int, and where it does it takes quadratic time.
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")
