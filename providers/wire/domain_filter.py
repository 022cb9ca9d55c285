"""Which names a provider manages, in its own words: suffix lists or RE2 patterns."""

from collections.abc import Iterable, Set
from typing import Protocol

import msgspec
import re2

from providers.wire.canonical_name import InvalidName, canonical_name, unicode_name
from providers.wire.errors import InvalidDomainFilter, UndecodableBody, WrongType
from providers.wire.json_reading import (
    LENIENT,
    JsonObject,
    collect_fields,
    make_fields,
    parse_json,
    read_text,
    read_texts,
)
from providers.wire.json_shape import raise_if_malformed, strip_frame

MAX_PATTERN_LENGTH = 4096
MAX_ENTRIES = 10_000
_MAX_PATTERN_MEMORY = 1024 * 1024
# The entry of a filter without entries, where filters are held against each other.
_EVERYTHING = ""

_FIELDS = make_fields(
    "include",
    "exclude",
    "regexInclude",
    "regexExclude",
    "filters",
    kept_over_null=("regexInclude", "regexExclude"),
)


class _Pattern(Protocol):
    """What we use of a pattern that google-re2, which has no types, has compiled."""

    def search(self, text: str) -> object | None:
        """Where the pattern matches, anywhere in the text."""


def _make_options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_PATTERN_MEMORY
    options.log_errors = False
    return options


_OPTIONS = _make_options()


class DomainFilter(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={"regex_include": "regexInclude", "regex_exclude": "regexExclude"},
):
    """Either lists of suffixes or patterns, never both; neither matches every name.

    Entries are kept in the one spelling names are compared in: lower case, ASCII, no trailing dot, empty ones
    dropped. ExternalDNS compares the same names in Unicode; patterns are held against that.
    Raises InvalidDomainFilter when made of both kinds or of a pattern RE2 refuses.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    regex_include: str = ""
    regex_exclude: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "include", _clean_entries(self.include, "$.include"))
        msgspec.structs.force_setattr(self, "exclude", _clean_entries(self.exclude, "$.exclude"))
        _compile_pattern(self.regex_include, "$.regexInclude")
        _compile_pattern(self.regex_exclude, "$.regexExclude")
        if self._has_lists and self._has_patterns:
            raise InvalidDomainFilter("lists and regular expressions at once, only one kind may be given")

    @property
    def matches_everything(self) -> bool:
        """True when nothing was said at all."""
        return not (self._has_lists or self._has_patterns)

    def matches(self, name: str) -> bool:
        """Whether the provider manages this name, by ExternalDNS's rules. `name` as on the wire."""
        if self._has_patterns:
            return self._matches_patterns(unicode_name(name))
        stripped = _canonical(name)
        included = not self.include or any(_lies_in(stripped, entry) for entry in self.include)
        return included and not any(_lies_in(stripped, entry) for entry in self.exclude)

    def overlaps(self, other: "DomainFilter") -> bool:
        """Whether a name may match both. What patterns have in common is not known: something, then."""
        if any(each.regex_include or each.regex_exclude for each in (self, other)):
            return True
        mine, others = self.include or (_EVERYTHING,), other.include or (_EVERYTHING,)
        excluded = {*self.exclude, *other.exclude}
        shared = (*_select_inside(mine, {*others}), *_select_inside(others, {*mine}))
        return any(not _is_inside(entry, excluded) for entry in shared)

    def _matches_patterns(self, name: str) -> bool:
        # RE2 reads UTF-8; half a surrogate pair has none.
        readable = name.encode(errors="replace").decode()
        if self.regex_exclude and _compile_pattern(self.regex_exclude, "$.regexExclude").search(readable):
            return False
        return _compile_pattern(self.regex_include, "$.regexInclude").search(readable) is not None

    @property
    def _has_lists(self) -> bool:
        return bool(self.include or self.exclude)

    @property
    def _has_patterns(self) -> bool:
        return bool(self.regex_include or self.regex_exclude)


class ParsedFilter(msgspec.Struct, frozen=True):
    """A provider's filter, and whether it named its list `filters`, which ExternalDNS does not read."""

    filter: DomainFilter
    said_filters: bool


def parse_domain_filter(body: bytes) -> ParsedFilter:
    """Read the answer of the negotiate call; `null` and `{}` match everything. Raises WireError."""
    text = strip_frame(body)
    if text == b"null":
        return ParsedFilter(DomainFilter(), said_filters=False)
    if not text.startswith(b"{"):
        raise WrongType("an object was expected, the body is something else")
    raise_if_malformed(text, item_depth=1, max_items=MAX_ENTRIES)
    found = collect_fields(_parse_object(text), _FIELDS, "$", LENIENT)
    parsed = DomainFilter(
        include=read_texts(found.get("include"), "$.include"),
        exclude=read_texts(found.get("exclude"), "$.exclude"),
        regex_include=read_text(found.get("regexInclude"), "$.regexInclude"),
        regex_exclude=read_text(found.get("regexExclude"), "$.regexExclude"),
    )
    return ParsedFilter(parsed, said_filters="filters" in found and "include" not in found)


def _parse_object(text: bytes) -> JsonObject:
    value = parse_json(text, "$", LENIENT)
    if not isinstance(value, JsonObject):
        raise UndecodableBody("an object was expected")
    return value


def _clean_entries(entries: tuple[str, ...], path: str) -> tuple[str, ...]:
    if len(entries) > MAX_ENTRIES:
        raise InvalidDomainFilter(f"more than {MAX_ENTRIES} entries", path)
    cleaned = (_clean_entry(entry.strip()) for entry in entries)
    return tuple(entry for entry in cleaned if entry)


def _clean_entry(entry: str) -> str:
    if entry.startswith("."):
        return f".{_canonical(entry[1:])}".removesuffix(".")
    return _canonical(entry)


def _canonical(name: str) -> str:
    """The one spelling of a name; of what cannot be one, lower case without the last dot."""
    try:
        return canonical_name(name)
    except InvalidName:
        return name.removesuffix(".").lower()


def _lies_in(name: str, entry: str) -> bool:
    """`.example.org` holds only what is below, `example.org` also the name itself."""
    if entry.startswith("."):
        return name.endswith(entry)
    return name == entry or name.endswith(f".{entry}")


def _select_inside(entries: Iterable[str], outer: Set[str]) -> list[str]:
    return [entry for entry in entries if _is_inside(entry, outer)]


def _is_inside(entry: str, outer: Set[str]) -> bool:
    """Whether one of the outer entries holds every name that an entry holds."""
    name = entry.removeprefix(".")
    if _EVERYTHING in outer or entry in outer or (entry and name in outer):
        return True
    dots = (place for place, character in enumerate(name) if character == ".")
    return any(name[dot + 1 :] in outer or name[dot:] in outer for dot in dots)


def _compile_pattern(pattern: str, path: str) -> _Pattern:
    """The pattern, compiled by RE2 (which keeps a bounded cache), for a search anywhere in a name."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidDomainFilter(f"a pattern of more than {MAX_PATTERN_LENGTH} characters", path)
    try:
        compiled: _Pattern = re2.compile(pattern, _OPTIONS)
    except (re2.error, UnicodeEncodeError):
        raise InvalidDomainFilter("a pattern that RE2 does not accept", path) from None
    return compiled
