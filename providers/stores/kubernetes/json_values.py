"""JSON of a Kubernetes API, read strictly: what could not be written back as it came is refused."""

import json
import math
from collections.abc import Mapping
from typing import NoReturn

from providers.registries.kubernetes_object import JsonValue

# An object's `managedFields` nest deepest: a dozen levels in an honest list.
MAX_DEPTH = 32
# An int64 has 19 digits. Python refuses thousands of them, and where it does not it takes quadratic time.
_MAX_DIGITS = 20


class NotReadable(ValueError):
    """A text that is no JSON object, or one that two programs would read in two ways. Says what is wrong."""


def decode_object(body: bytes) -> dict[str, JsonValue]:
    """The JSON object that a body is. Raises NotReadable."""
    try:
        found: JsonValue = json.loads(
            body.decode(),
            object_pairs_hook=_build_object,
            parse_int=_parse_whole_number,
            parse_float=_parse_number,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise NotReadable(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotReadable(f"not JSON at character {error.pos}") from None
    except RecursionError:
        raise NotReadable(f"nested deeper than {MAX_DEPTH} levels") from None
    if not isinstance(found, dict):
        raise NotReadable("not an object")
    _raise_if_too_deep(found)
    if b"\\ud" in body or b"\\uD" in body:
        _raise_if_not_text(found)
    return found


def encode_object(obj: Mapping[str, JsonValue]) -> bytes:
    """The bytes of a JSON object."""
    return json.dumps(obj, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _build_object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise NotReadable("a key is repeated in an object")
    return built


def _parse_whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise NotReadable(f"a number of {len(digits)} digits")
    return int(digits)


def _parse_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotReadable("a number beyond all that can be written back")
    return number


def _refuse_constant(_constant: str) -> NoReturn:
    raise NotReadable("NaN and Infinity are not JSON")


def _raise_if_too_deep(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in _children_of(each) if isinstance(child, (dict, list))]
        if not level:
            return
    raise NotReadable(f"nested deeper than {MAX_DEPTH} levels")


def _children_of(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _raise_if_not_text(value: Mapping[str, JsonValue]) -> None:
    """Half of a surrogate pair has no UTF-8: nothing that holds one could be sent back, or stored."""
    try:
        encode_object(value)
    except UnicodeEncodeError:
        raise NotReadable("half of a surrogate pair in a text") from None
