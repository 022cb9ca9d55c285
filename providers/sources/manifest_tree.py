"""Bytes of a manifest file become plain values, bounded and without guessing.

YAML's own loader is not used: it follows aliases (a few lines can stand for gigabytes), keeps the last of two
equal keys, and reads words by YAML 1.1. Its event stream is walked instead, which builds nothing by itself.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import yaml

from providers.sources.errors import InvalidManifest, Place

# A definition of a Kubernetes kind nests some 30 deep, a DNSEndpoint in a list 8.
MAX_DEPTH = 64
# 100,000 endpoints are some 2 million values; a value of two bytes takes a hundred in memory.
MAX_VALUES = 4_000_000

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_YAML_ORG = "tag:yaml.org,2002:"
_HARMLESS_TAGS = (None, f"{_YAML_ORG}str", f"{_YAML_ORG}map", f"{_YAML_ORG}seq")
# The parser compares each of them with all before it: the work grows with their square.
_MAX_TAG_DIRECTIVES = 100
_TOO_MANY = f"the file holds more than {MAX_VALUES} values, the limit here; split it."
_WHITE_SPACE = " \t\r\n"

# 64 bits have at most 19 digits; a longer number fits no field.
_MAX_DIGITS = 19

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*").fullmatch
_TRUTH_VALUES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# All that any of these programs reads as something else begins so; nearly every name does not.
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
    """A word that is no text to some program: what is there, and what it may be read as.

    YAML 1.1 reads `on` as a truth value, `0777` as octal and `1:20` as base 60; kubectl and YAML 1.2 read
    some of these otherwise. Nothing is guessed: a field of text or number asks for a spelling on which all
    agree.
    """

    word: str
    reading: str


Node = str | int | bool | Unclear | None | list["Node"] | dict[str, "Node"]


def parse_documents(text: bytes, place: Place) -> Iterator[tuple[Place, Node]]:
    """Each document of a file with its place, empty ones too; `.json` is JSON, all else YAML.

    Raises InvalidManifest, also half-way: whoever reads takes all documents or none.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidManifest(f"byte {error.start} is not UTF-8; save the file as UTF-8.", place) from None
    if place.file.endswith(".json"):
        return _parse_json_documents(decoded, place)
    return _parse_yaml_documents(decoded, place)


def _parse_yaml_documents(text: str, place: Place) -> Iterator[tuple[Place, Node]]:
    if text.count("%TAG") > _MAX_TAG_DIRECTIVES:
        raise InvalidManifest("it declares YAML tags (%TAG) over and over; leave them out.", place)
    builder = _TreeBuilder(place)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentEndEvent):
                yield builder.place, builder.root
            else:
                builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise InvalidManifest(_describe_syntax(error), builder.place) from None
    except yaml.YAMLError:
        reason = "it holds a character that YAML does not allow, such as a control character."
        raise InvalidManifest(reason, builder.place) from None


def _describe_syntax(error: yaml.MarkedYAMLError) -> str:
    """The parser's own words and the line; nothing of what is there."""
    mark = error.problem_mark or error.context_mark
    line = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"this is not YAML{line}: {error.problem or error.context or 'it cannot be read'}."


@dataclass
class _Open:
    """A list or mapping still being read; of a mapping, the last key, and whether its value is due."""

    container: list[Node] | dict[str, Node]
    key: str = ""
    is_value_due: bool = False

    @property
    def is_key_due(self) -> bool:
        return isinstance(self.container, dict) and not self.is_value_due

    def add(self, node: Node) -> None:
        if isinstance(self.container, list):
            self.container.append(node)
        else:
            self.container[self.key] = node
            self.is_value_due = False


@dataclass
class _TreeBuilder:
    place: Place
    root: Node = None
    stack: list[_Open] = field(default_factory=list)
    values: int = 0

    def take(self, event: yaml.Event) -> None:
        """The next event of the stream, document ends excepted."""
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open(event, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open(event, [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, yaml.AliasEvent):
            self._refuse("it is an alias (*); write the value itself.")
        elif isinstance(event, yaml.DocumentStartEvent):
            self.place = Place(self.place.file, self.place.document + 1)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        self._raise_if_tagged(event.tag)
        word: str = event.value
        above = self.stack[-1] if self.stack else None
        if above is not None and above.is_key_due:
            is_repeated = word in above.container
            above.key, above.is_value_due = word, True
            if is_repeated:
                self._refuse("the key is there twice; keep one.")
            return
        is_plain = event.implicit[0]  # neither quoted nor tagged
        self._add(resolve_plain(word) if is_plain else word)

    def _open(self, event: yaml.CollectionStartEvent, container: list[Node] | dict[str, Node]) -> None:
        self._raise_if_tagged(event.tag)
        if len(self.stack) >= MAX_DEPTH:
            self._refuse(f"it nests deeper than {MAX_DEPTH} levels.")
        if self.stack and self.stack[-1].is_key_due:
            self._refuse("a list or mapping is used as a key; keys are words.")
        self._add(container)
        self.stack.append(_Open(container))

    def _add(self, node: Node) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            raise InvalidManifest(_TOO_MANY, self.place)
        if self.stack:
            self.stack[-1].add(node)
        else:
            self.root = node

    def _raise_if_tagged(self, tag: str | None) -> None:
        if tag not in _HARMLESS_TAGS:
            self._refuse("it has a YAML tag (!); remove it.")

    def _refuse(self, reason: str) -> NoReturn:
        place = self.place
        for level, each in enumerate(self.stack, start=1):
            is_here = level == len(self.stack)
            if isinstance(each.container, list):
                place = place.item(len(each.container) - (not is_here))
            elif each.is_value_due or not is_here:
                place = place.field(each.key)
        raise InvalidManifest(reason, place)


def _parse_json_documents(text: str, place: Place) -> Iterator[tuple[Place, Node]]:
    """As kubectl takes them: one JSON value after another."""
    # Each value but the first follows a comma, a colon or a bracket; signs inside of texts count along.
    if sum(map(text.count, ",:[{")) > 2 * MAX_VALUES:
        raise InvalidManifest(_TOO_MANY, place)
    position = _skip_white_space(text, 0)
    while position < len(text):
        place = Place(place.file, place.document + 1)
        try:
            node, position = _make_decoder(place).raw_decode(text, position)
        except json.JSONDecodeError as error:
            reason = f"this is not JSON in line {error.lineno}, column {error.colno}: {error.msg}."
            raise InvalidManifest(reason, place) from None
        except RecursionError:
            raise InvalidManifest(f"it nests deeper than {MAX_DEPTH} levels.", place) from None
        _raise_if_too_deep(node, place)
        yield place, node
        position = _skip_white_space(text, position)


def _skip_white_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in _WHITE_SPACE:
        position += 1
    return position


def _make_decoder(place: Place) -> json.JSONDecoder:
    def take_pairs(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
        found = dict(pairs)
        if len(found) < len(pairs):
            (twice, _count), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise InvalidManifest("a key is there twice in one object; keep one.", place.field(twice))
        return found

    def take_number(word: str) -> Node:
        return resolve_plain(word)

    return json.JSONDecoder(
        object_pairs_hook=take_pairs,
        parse_int=take_number,
        parse_float=take_number,
        parse_constant=lambda word: Unclear(word, "a number"),
    )


def _raise_if_too_deep(root: Node, place: Place) -> None:
    level = [root] if isinstance(root, list | dict) else []
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node) if isinstance(child, list | dict)]
        if not level:
            return
    raise InvalidManifest(f"it nests deeper than {MAX_DEPTH} levels.", place)


def _children(node: list[Node] | dict[str, Node]) -> Iterable[Node]:
    return node.values() if isinstance(node, dict) else node


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
