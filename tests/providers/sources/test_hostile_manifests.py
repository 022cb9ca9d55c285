"""Whatever stands in a file: endpoints, or InvalidManifest, in little time and memory."""

import json
import pickle
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.registries.labels import RESOURCE
from providers.sources.manifest_tree import MAX_DEPTH, MAX_VALUES, Unclear, resolve_plain
from providers.sources.manifests import FileReading, InvalidManifest, parse_manifests
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.poison import find_poison
from tests.depth import examples
from tests.providers.sources.manifests_by_hand import GOOD

MANY = settings(
    max_examples=examples(10_000), deadline=None, suppress_health_check=list(HealthCheck), database=None
)
FILES = st.sampled_from(["a.yaml", "a.json"])

_LINES = [*GOOD.splitlines(keepends=True), "---\n", "...\n", "kind: List\n", "apiVersion: v1\n", "items:\n"]
_PIECES = [
    *"[]{},:-?&*!|>%@`'\"# \t\n\r", "\\", "- ", ": ", "~", "on", "0777", "1:20", "<<", "!!int ", "&a ", "*a",
    "\x00", "\x85", "\u2028", "\ufeff", "\ud7ff", "%YAML 1.1\n", "%TAG ! x\n", "NaN", "1e999", "\\ud800",
]  # fmt: skip
soup = st.lists(st.sampled_from(_LINES) | st.sampled_from(_PIECES), max_size=30).map("".join).map(str.encode)


@st.composite
def mutilated(draw: st.DrawFn) -> bytes:
    """The good manifest with a piece put in, or cut out, somewhere."""
    text = draw(st.sampled_from([GOOD, json.dumps(yaml.safe_load(GOOD))]))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 5))
        text = text[:start] + draw(st.sampled_from(_PIECES)) + text[end:]
    return text.encode()


def parse_or_refuse(text: bytes, file: str) -> FileReading | InvalidManifest:
    try:
        return parse_manifests(text, file=file)
    except InvalidManifest as error:
        return error


@MANY
@given(st.binary(max_size=80) | soup | mutilated(), FILES)
def test_reading_raises_nothing_but_invalid_manifest(text: bytes, file: str) -> None:
    found = parse_or_refuse(text, file)

    if isinstance(found, InvalidManifest):
        assert str(found).isprintable()
        assert found.file == file
        assert str(pickle.loads(pickle.dumps(found))) == str(found)
    else:
        endpoints = [placed.endpoint for placed in found.endpoints]
        assert all(endpoint_key(each).name == each.dns_name and each.targets for each in endpoints)
        assert not any(find_poison(each) for each in endpoints)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "v1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_PATHS: list[tuple[str | int, ...]] = [
    ("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("spec",),
    ("spec", "endpoints"), ("spec", "endpoints", 0),
    *(("spec", "endpoints", 0, name) for name in Endpoint.__struct_encode_fields__),
    ("spec", "endpoints", 0, "targets", 0), ("spec", "endpoints", 0, "labels", "team"),
    ("spec", "endpoints", 0, "providerSpecific", 0), ("spec", "endpoints", 0, "providerSpecific", 0, "name"),
]  # fmt: skip


@settings(MANY, max_examples=examples(5_000))
@given(st.sampled_from(_PATHS), values, FILES)
def test_any_value_in_any_field_is_taken_or_refused(path: tuple[Any, ...], value: object, file: str) -> None:
    manifest = yaml.safe_load(GOOD)
    holder = manifest
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    text = json.dumps(manifest) if file.endswith(".json") else yaml.safe_dump(manifest, allow_unicode=True)

    found = parse_or_refuse(text.encode(errors="surrogatepass"), file)

    assert isinstance(found, FileReading) or str(found).isprintable()


_LABEL = st.from_regex(r"[a-z0-9_]([-a-z0-9_]{0,5}[a-z0-9_])?", fullmatch=True).filter(
    lambda label: not label.startswith("xn--")
)
_NAMES = st.builds(lambda first, rest: ".".join([*first, *rest, "example.org"]),
                   st.sampled_from([[], ["*"]]), st.lists(_LABEL, max_size=3))  # fmt: skip
_TEXTS = st.text(
    alphabet=st.characters(categories=["L", "N", "P", "S"], exclude_characters=',"='), max_size=12
)
_TARGETS = st.one_of(
    st.tuples(st.just("A"), st.lists(st.ip_addresses(v=4).map(str), min_size=1, max_size=4)),
    st.tuples(st.just("AAAA"), st.lists(st.ip_addresses(v=6).map(str), min_size=1, max_size=4)),
    st.tuples(st.just("CNAME"), st.lists(_NAMES, min_size=1, max_size=1)),
    st.tuples(st.just("TXT"), st.lists(_TEXTS.filter(bool), min_size=1, max_size=3)),
)
_ENDPOINTS = st.builds(
    lambda name, typed, ttl, set_identifier, labels, properties: Endpoint(
        dns_name=name,
        record_type=typed[0],
        targets=tuple(typed[1]),
        record_ttl=ttl,
        set_identifier=set_identifier,
        labels=labels,
        provider_specific=tuple(ProviderSpecificProperty(*each) for each in properties.items()),
    ),
    _NAMES,
    _TARGETS,
    st.integers(0, 2**31 - 1),
    _TEXTS,
    st.dictionaries(
        _TEXTS.filter(bool).filter(lambda key: key not in ("owner", RESOURCE)), _TEXTS, max_size=3
    ),
    st.dictionaries(_TEXTS.filter(bool), _TEXTS, max_size=3),
)


class _Quoting(yaml.SafeDumper):
    """Writes every text in quotes: the library leaves `Y` bare, which kubectl reads as a truth value."""


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"')
)


def as_object(endpoints: list[Endpoint]) -> dict[str, object]:
    import msgspec

    return {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {"name": "www", "namespace": "web"},
        "spec": {"endpoints": msgspec.to_builtins(endpoints, str_keys=True)},
    }


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(_ENDPOINTS, max_size=4), st.sampled_from(["json", "flow", "block"]))
def test_what_another_program_writes_is_read_back(endpoints: list[Endpoint], style: str) -> None:
    manifest = as_object(endpoints)
    if style == "json":
        text = json.dumps(manifest)
    else:
        text = yaml.dump(manifest, Dumper=_Quoting, default_flow_style=style == "flow", allow_unicode=True)

    found = parse_manifests(text.encode(), file=f"a.{'json' if style == 'json' else 'yaml'}")

    told = [placed.endpoint for placed in found.endpoints]
    assert [each.labels.pop(RESOURCE) for each in told] == ["crd/web/www"] * len(endpoints)
    assert told == endpoints


@settings(max_examples=examples(5_000), deadline=None)
@given(st.text(alphabet="0123456789abefnosytxOTEFNxo+-._:~=<TZ ", max_size=12))
def test_a_word_is_a_text_only_where_yaml_1_1_reads_one_too(word: str) -> None:
    try:
        read = yaml.safe_load(f"- {word}")
    except (yaml.YAMLError, ValueError):  # a date that no calendar has is a ValueError there
        return

    if not isinstance(read, list) or isinstance(read[0], list | dict):
        return  # signs of YAML's own made more of it than a word

    found = resolve_plain(word.strip())

    assert isinstance(found, Unclear) or (found, type(found)) == (read[0], type(read[0]))


@pytest.mark.parametrize(
    "word", ["y", "N", "12e3", "0o17", "+7", "1_000", ".5", "0b1", "2026-11-21T07:00:00Z"]
)
def test_a_word_only_other_programs_read_as_something_else_is_unclear_too(word: str) -> None:
    assert not isinstance(resolve_plain(word), str | int)


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("text", "file", "says"),
    [
        (BOMB.encode(), "a.yaml", "an alias"),
        (b"a: &a\n  <<: *a\n", "a.yaml", "an alias"),
        (b"[" * 1_000_000, "a.yaml", f"deeper than {MAX_DEPTH}"),
        (b"- " * 1_000_000, "a.yaml", f"deeper than {MAX_DEPTH}"),
        (b'{"a":' * 1_000_000, "a.json", f"deeper than {MAX_DEPTH}"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "a.json", f"deeper than {MAX_DEPTH}"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "a.yaml", f"deeper than {MAX_DEPTH}"),
        (b"[" + b"{}," * MAX_VALUES, "a.json", f"more than {MAX_VALUES} values"),
        (b"%TAG !a! b\n" * 500_000, "a.yaml", "over and over"),
        (b'"' + b"a" * 4_000_000, "a.yaml", "not YAML"),
        (b"[" + b"9" * 1_000_000 + b"]", "a.json", "a mapping is expected here"),
        (b"[" + b"9" * 1_000_000 + b"]", "a.yaml", "a mapping is expected here"),
        (b"[1" + b":1" * 500_000 + b"x]", "a.yaml", "a mapping is expected here"),
        (b"[" + b"1_" * 500_000 + b"x]", "a.yaml", "a mapping is expected here"),
    ],
    ids=[
        *("alias bomb", "alias of itself", "flow depth", "block depth", "json depth"),
        *("json one too deep", "yaml one too deep"),
        *("many values", "tag directives", "endless text"),
        *("json digits", "yaml digits", "base 60", "underscores"),
    ],
)
def test_a_large_hostile_file_is_refused_quickly(text: bytes, file: str, says: str) -> None:
    # Quadratic work on these would take minutes, and the run's own time limit would tell.
    with pytest.raises(InvalidManifest, match=says):
        parse_manifests(text, file=file)
