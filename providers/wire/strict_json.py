"""JSON that can be read in one way only: a text that two programs would read differently is refused."""

import json
import math
from typing import Any, NoReturn

# An int64 has 19 digits. Python refuses thousands of them, and where it does not it takes quadratic time.
_MAX_DIGITS = 20


class NotStrictJson(ValueError):
    """A text that is not JSON, or JSON that two programs would read in two ways. Says what is wrong."""


def parse_strict_json(raw: bytes, *, max_depth: int) -> Any:
    """The value of a text in UTF-8: no key twice, no NaN, no half of a surrogate pair, no number or nesting
    without bounds. Raises NotStrictJson."""
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_build_object,
            parse_int=_parse_whole_number,
            parse_float=_parse_number,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise NotStrictJson(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotStrictJson(
            f"not JSON at character {error.pos} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise NotStrictJson(f"nested deeper than {max_depth} levels") from None
    _raise_if_too_deep(value, max_depth)
    if b"\\ud" in raw or b"\\uD" in raw:
        _raise_if_not_text(value)
    return value


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise NotStrictJson("a key is repeated in an object")
    return built


def _parse_whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise NotStrictJson(f"a number of {len(digits)} digits")
    return int(digits)


def _parse_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotStrictJson("a number beyond all that can be written back")
    return number


def _refuse_constant(_constant: str) -> NoReturn:
    raise NotStrictJson("NaN and Infinity are not JSON")


def _raise_if_too_deep(value: Any, max_depth: int) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(max_depth):
        level = [child for each in level for child in _children_of(each) if isinstance(child, dict | list)]
        if not level:
            return
    raise NotStrictJson(f"nested deeper than {max_depth} levels")


def _children_of(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _raise_if_not_text(value: Any) -> None:
    """Half of a surrogate pair has no UTF-8: nothing that holds one could be sent back, or stored."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotStrictJson("half of a surrogate pair in a text") from None
