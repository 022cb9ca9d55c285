"""The flags of each ExternalDNS that a file describes: manifests of workloads, values of its Helm chart, or a
command line.

Flags and their defaults are ExternalDNS's (0.22, `pkg/apis/externaldns/types.go`), the values those of the
chart of its project. What is in a secret or a ConfigMap is not known here.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_tree import Node, Unclear

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Pod", "ReplicaSet")
_IMAGE = re.compile(r"(^|/)external-dns([:@]|$)").search
_VARIABLE_PREFIX = "EXTERNAL_DNS_"
# Values of the chart, each with the flag that it becomes.
_VALUES = {
    "registry": "registry",
    "policy": "policy",
    "txtOwnerId": "txt-owner-id",
    "txtPrefix": "txt-prefix",
    "txtSuffix": "txt-suffix",
    "domainFilters": "domain-filter",
    "excludeDomains": "exclude-domains",
    "managedRecordTypes": "managed-record-types",
}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:h|ms|m|s))+").fullmatch
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)").findall
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True)
class FlagSet:
    """One ExternalDNS: its name in the file, and its flags without dashes, each with all its values.
    `unknown` names the flags whose value is elsewhere, such as in a secret."""

    name: str
    flags: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...] = ()
    place: Place = field(default_factory=lambda: Place(""))

    def find(self, name: str, default: str = "") -> str:
        """The last value of a flag that counts once."""
        return self.flags.get(name, (default,))[-1]

    def list(self, name: str) -> tuple[str, ...]:
        """All values of a flag that may be given several times, those with commas apart."""
        given = (part.strip() for value in self.flags.get(name, ()) for part in value.split(","))
        return tuple(part for part in given if part)


def find_flag_sets(node: Node, place: Place) -> Iterator[FlagSet]:
    """Each ExternalDNS of a document: a workload, a list of them, or values of the chart. Nothing of what is
    none. Raises InvalidManifest where it is one and its flags cannot be read."""
    if not isinstance(node, dict):
        return
    kind = node.get("kind")
    items = node.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from find_flag_sets(item, place.field("items").item(index))
    elif kind in _WORKLOADS:
        yield from _find_in_workload(node, place)
    elif kind is None and (set(_VALUES) | {"extraArgs"}) & set(node):
        yield _read_values(node, place)


def read_command_line(text: str, name: str) -> FlagSet:
    """The flags of a command line as a shell takes it, with or without the program's name. Raises
    InvalidManifest."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidManifest(f"it is no command line: {error}.", Place(name)) from None
    return FlagSet(name, _read_flags(words, Place(name)), place=Place(name))


def parse_duration(text: str) -> int | None:
    """Seconds of a duration as Go writes it (`1h30m`, `90s`); None of what is none."""
    if text == "0":
        return 0
    if not _DURATION(text):
        return None
    return round(sum(float(number) * _SECONDS[unit] for number, unit in _PART(text)))


def _find_in_workload(node: Mapping[str, Node], place: Place) -> Iterator[FlagSet]:
    metadata = node.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    spec, where = node.get("spec"), place.field("spec")
    if node.get("kind") != "Pod" and isinstance(spec, dict):
        template, where = spec.get("template"), where.field("template").field("spec")
        spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        if isinstance(container, dict) and _IMAGE(str(container.get("image", ""))):
            yield _read_container(
                container, str(name or "external-dns"), where.field("containers").item(index)
            )


def _read_container(container: Mapping[str, Node], name: str, place: Place) -> FlagSet:
    variables, unknown = _read_variables(container.get("env"), place.field("env"))
    words: list[str] = []
    for part in ("command", "args"):
        given = container.get(part) or []
        if not isinstance(given, list):
            raise InvalidManifest("it is no list of texts.", place.field(part))
        words += [_read_text(word, place.field(part).item(index)) for index, word in enumerate(given)]
    flags = _read_flags(words, place.field("args"))
    # A flag of the command line goes before its variable.
    return FlagSet(name, {**variables, **flags}, tuple(each for each in unknown if each not in flags), place)


def _read_variables(node: Node, place: Place) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The flags that variables set, and those whose variable has its value from elsewhere."""
    flags: dict[str, tuple[str, ...]] = {}
    unknown: list[str] = []
    for index, entry in enumerate(node if isinstance(node, list) else ()):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(name, str) or not name.startswith(_VARIABLE_PREFIX):
            continue
        flag = name.removeprefix(_VARIABLE_PREFIX).lower().replace("_", "-")
        if "valueFrom" in entry:
            unknown.append(flag)
        else:
            # Of a flag that may be given several times, a line is a value.
            text = _read_text(entry.get("value"), place.item(index).field("value"))
            flags[flag] = tuple(text.split("\n"))
    return flags, unknown


def _read_values(node: Mapping[str, Node], place: Place) -> FlagSet:
    flags: dict[str, tuple[str, ...]] = {}
    for value, flag in _VALUES.items():
        given = node.get(value)
        if given not in (None, "", []):
            listed = given if isinstance(given, list) else [given]
            flags[flag] = tuple(_read_text(each, place.field(value)) for each in listed)
    provider = node.get("provider")
    chosen = provider.get("name") if isinstance(provider, dict) else provider
    if chosen:
        flags["provider"] = (_read_text(chosen, place.field("provider")),)
    flags |= _read_extra(node.get("extraArgs"), place.field("extraArgs"))
    variables, unknown = _read_variables(node.get("env"), place.field("env"))
    name = node.get("fullnameOverride") or node.get("nameOverride") or "external-dns"
    return FlagSet(str(name), {**variables, **flags}, tuple(unknown), place)


def _read_extra(node: Node, place: Place) -> dict[str, tuple[str, ...]]:
    """A list of flags, or a mapping of their names, without dashes, to values."""
    if isinstance(node, list):
        return _read_flags([_read_text(word, place.item(index)) for index, word in enumerate(node)], place)
    flags: dict[str, tuple[str, ...]] = {}
    for name, given in (node if isinstance(node, dict) else {}).items():
        listed = given if isinstance(given, list) else [given]
        texts = ("true" if each is None else _read_text(each, place.field(name)) for each in listed)
        flags[name.lstrip("-")] = tuple(texts)
    return flags


def _read_text(node: Node, place: Place) -> str:
    if isinstance(node, bool):
        return str(node).lower()
    if isinstance(node, Unclear):
        return node.word
    if isinstance(node, str | int):
        return str(node)
    raise InvalidManifest("it is no text.", place)


def _read_flags(words: Sequence[str], place: Place) -> dict[str, tuple[str, ...]]:
    """`--name=value`, `--name value`, and `--name` or `--no-name` alone, which are true and false."""
    found: dict[str, list[str]] = {}
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if not word.startswith("--") or word == "--":
            continue  # the program, or a word that belongs to no flag
        name, equals, value = word[2:].partition("=")
        if "$(" in value:
            raise InvalidManifest(f"the value of --{name} is in a variable; write the value itself.", place)
        if not equals and waiting and not waiting[-1].startswith("--"):
            value = waiting.pop()
        elif not equals:
            name, value = (name[3:], "false") if name.startswith("no-") else (name, "true")
        found.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in found.items()}
