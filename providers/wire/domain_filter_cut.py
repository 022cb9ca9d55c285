"""A domain filter cut to the names below some suffixes, in the one form it has. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from providers.wire.canonical_name import unicode_name
from providers.wire.domain_filter import DomainFilter

# An empty include would match everything, and a suffix could be the name of something.
NOTHING: Final = DomainFilter(regex_include=r"[^\x00-\x{10FFFF}]")

# A node of a tree of suffixes, read from the end: the letters that may come before, each with what may come
# before that; None: whatever comes before, a suffix holds the name. `_WHOLE`: the name may begin here.
_Node = dict[str, "_Node | None"]
_WHOLE = "whole"


def cut_filter(given: DomainFilter, suffixes: Sequence[str]) -> DomainFilter:
    """A filter for the names that match both: `given`, and one of the suffixes, which match as the entries of
    a list do. Without suffixes it is `given`.

    Lists stay lists and patterns stay patterns: ExternalDNS takes no filter of both. Where they have nothing
    in common it is `NOTHING`. Raises InvalidDomainFilter where the suffixes are too many for a pattern.
    """
    wanted = DomainFilter(include=tuple(suffixes)).include
    if not wanted:
        return given
    if given.regex_include:
        outside = _build_outside_pattern(wanted)
        excluded = f"{outside}|{given.regex_exclude}" if given.regex_exclude else outside
        return DomainFilter(regex_include=given.regex_include, regex_exclude=excluded)
    if given.regex_exclude:
        return DomainFilter(regex_include=_build_inside_pattern(wanted), regex_exclude=given.regex_exclude)
    shared = _intersect(given.include, wanted) if given.include else wanted
    return DomainFilter(include=shared, exclude=given.exclude) if shared else NOTHING


def _intersect(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Of two suffixes one holds all names of the other, or they share none."""
    inside = [each for each in some if any(_is_inside(each, other) for other in others)]
    inside += [each for each in others if any(_is_inside(each, other) for other in some)]
    return tuple(dict.fromkeys(inside))


def _is_inside(entry: str, outer: str) -> bool:
    """Whether one suffix holds every name that another one holds."""
    if entry == outer:
        return True
    if outer.startswith("."):
        return entry.endswith(outer)
    return entry.removeprefix(".") == outer or entry.endswith(f".{outer}")


def _build_inside_pattern(suffixes: Iterable[str]) -> str:
    """A pattern for the names that a suffix holds."""
    return "|".join(
        f"{_escape(entry)}$" if entry.startswith(".") else f"(?:^|\\.){_escape(entry)}$"
        for entry in map(_as_unicode, suffixes)
    )


def _build_outside_pattern(suffixes: Iterable[str]) -> str:
    """A pattern for the names that no suffix holds. RE2 has no look-ahead, so it says of each letter, from
    the last one on, which others may stand there."""
    root: _Node = {}
    for entry in map(_as_unicode, suffixes):
        _add(root, entry)
    return f"{_format_outside(root)}$"


def _add(root: _Node, entry: str) -> None:
    node = root
    for letter in reversed(entry.removeprefix(".")):
        child = node.setdefault(letter, {})
        if child is None:
            return  # another suffix holds all of this one's names
        node = child
    node["."] = None
    if not entry.startswith("."):
        node[_WHOLE] = None


def _format_outside(node: _Node) -> str:
    letters = [letter for letter in node if letter != _WHOLE]
    ways = [] if _WHOLE in node else ["^"]
    ways.append(f"[^{''.join(map(_escape, letters))}]")
    ways += [f"{_format_outside(child)}{_escape(letter)}" for letter, child in node.items() if child]
    return f"(?:{'|'.join(ways)})"


def _as_unicode(entry: str) -> str:
    """As ExternalDNS gives names to patterns."""
    dot = "." if entry.startswith(".") else ""
    return dot + unicode_name(entry.removeprefix("."))


def _escape(text: str) -> str:
    """The text as a pattern for itself, also within brackets."""
    return "".join(
        letter if letter.isalnum() or letter == "_" or not letter.isascii() else f"\\{letter}"
        for letter in text
    )
