"""What an unquoted word of YAML says, and where two programs would read two things.

YAML 1.1 reads `on` as a truth value, `0777` as octal and `1:20` as base 60; kubectl and YAML 1.2 read some of
these otherwise. None of that is guessed here: such a word is `Unclear`, and whoever wants a text or a number
asks for it to be written so that all agree.
"""

import re
from typing import NamedTuple

# 64 bits have at most 19 digits; a longer number fits no field.
_MAX_DIGITS = 19

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*").fullmatch
_TRUTH_VALUES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# All that any of these programs reads as something else begins so; nearly every name is told by it.
_MAY_BE_UNCLEAR = re.compile(r"[-+.0-9=<]|[yYnN](?:[eEoO][sS]?)?$|[oO][nNfF]").match
_READINGS = (
    (re.compile(r"(?i:y|n|yes|no|on|off)"), "a truth value"),
    (re.compile(r"[-+]?0o?[0-7_]+"), "an octal number"),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F_]+"), "a hexadecimal number"),
    (re.compile(r"[-+]?0[bB][01_]+"), "a binary number"),
    (re.compile(r"[-+]?[0-9][0-9_]*+"), "a number"),
    (re.compile(r"[-+]?[0-9][0-9_]*+(?::[0-5]?[0-9])++(?:\.[0-9_]*+)?"), "a number to the base 60"),
    (re.compile(r"[-+]?(?:[0-9][0-9_]*+(?:\.[0-9_]*+)?|\.[0-9_]++)(?:[eE][-+]?[0-9]++)?"), "a number"),
    (re.compile(r"[-+]?\.(?i:inf)|\.(?i:nan)"), "a number"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*+)?", re.DOTALL), "a date"),
    (re.compile(r"=|<<"), "a sign of YAML's own"),
)


class Unclear(NamedTuple):
    """A word that is no text to some program: what stands there, and what it may be read as."""

    word: str
    reading: str


def resolve_plain(word: str) -> str | int | bool | Unclear | None:
    """The value of an unquoted scalar; text only where every program reads text."""
    if not _MAY_BE_UNCLEAR(word):
        if word in _NULLS:
            return None
        return _TRUTH_VALUES.get(word, word)
    if _WHOLE_NUMBER(word) and len(word) <= _MAX_DIGITS:
        return int(word)
    for pattern, reading in _READINGS:
        if pattern.fullmatch(word):
            return Unclear(word, reading)
    return word
