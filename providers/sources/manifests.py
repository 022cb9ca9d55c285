"""Manifests as `kubectl` takes and gives them: YAML and JSON files of a directory, read as one desired set.

DNSEndpoints, and Ingresses and Services as ExternalDNS's sources read them. All or nothing: whoever plans
with half of what is wanted deletes the other half.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from providers.registries.labels import RESOURCE
from providers.sources.dns_endpoint import read_dns_endpoint
from providers.sources.errors import InvalidManifest, Place
from providers.sources.ingress_service import read_ingress, read_service
from providers.sources.manifest_fields import ManifestObject, read_object
from providers.sources.manifest_files import read_files
from providers.sources.manifest_tree import Node, parse_documents
from providers.sources.placed_endpoint import PlacedEndpoint
from providers.wire.canonical_name import canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import safe_text

__all__ = ["FileReading", "InvalidManifest", "ManifestReading", "parse_manifests", "read_manifests"]

MAX_BYTES = 32 * 1024 * 1024
MAX_ENDPOINTS = 100_000

_Reader = Callable[[ManifestObject], Iterator[PlacedEndpoint]]

_DNS_ENDPOINT = "DNSEndpoint"
# Kinds by their group, each in the one version that is known here.
_KINDS: dict[tuple[str, str], tuple[str, _Reader]] = {
    ("externaldns.k8s.io", _DNS_ENDPOINT): ("externaldns.k8s.io/v1alpha1", read_dns_endpoint),
    ("networking.k8s.io", "Ingress"): ("networking.k8s.io/v1", read_ingress),
    ("extensions", "Ingress"): ("networking.k8s.io/v1", read_ingress),
    ("", "Service"): ("v1", read_service),
}
_LISTS = {(version, f"{kind}List"): (version, kind) for (_, kind), (version, _read) in _KINDS.items()}
_ANY_LIST = ("v1", "List")
_LIST_FIELDS = ("apiVersion", "kind", "metadata", "items")

# ExternalDNS's sources that merge what several objects of a kind want; two DNSEndpoints are a mistake.
_MERGING = ("ingress", "service")
_ADDRESSES = ("A", "AAAA")


@dataclass(frozen=True)
class FileReading:
    """What one file holds: its endpoints with their places, how many documents (empty ones not counted) and
    objects that say what is wanted, and the other objects."""

    endpoints: tuple[PlacedEndpoint, ...]
    documents: int
    objects: int
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class ManifestReading:
    """What all files of a directory want together. `ignored` names each object that wants nothing here (of
    another kind, for another controller, without a name), with its place; `documents` counts them too."""

    endpoints: tuple[Endpoint, ...]
    files: int
    documents: int
    ignored: tuple[str, ...] = ()


def read_manifests(
    directory: Path, *, max_bytes: int = MAX_BYTES, max_endpoints: int = MAX_ENDPOINTS
) -> ManifestReading:
    """All that the `.yaml`, `.yml` and `.json` files at and below `directory` want, in order of their names.

    Names are canonical, and every endpoint carries the label `resource`, as ExternalDNS sets it. Raises
    InvalidManifest if any file cannot be taken, if two places want one record set (Ingresses and Services may
    share one, as with ExternalDNS), and if there is nothing that wants anything at all: a directory that was
    not mounted does not ask to delete everything. To ask for that, write a DNSEndpoint with `endpoints: []`.
    """
    readings: list[FileReading] = []
    placed: list[PlacedEndpoint] = []
    for name, text in read_files(directory, max_bytes):
        reading = parse_manifests(text, file=name)
        readings.append(reading)
        placed.extend(reading.endpoints)
        if len(placed) > max_endpoints:
            raise InvalidManifest(f"more than {max_endpoints} endpoints, the limit here.", placed[-1].place)
    if not any(reading.objects for reading in readings):
        reason = (
            "it holds no DNSEndpoint, and no Ingress or Service that wants a name. If nothing is wanted any "
            "more, say so with a DNSEndpoint whose spec.endpoints is []."
        )
        raise InvalidManifest(reason, Place(str(directory)))
    return ManifestReading(
        endpoints=tuple(gather(placed)),
        files=len(readings),
        documents=sum(reading.documents for reading in readings),
        ignored=tuple(each for reading in readings for each in reading.ignored),
    )


def parse_manifests(text: bytes, *, file: str) -> FileReading:
    """What the objects in the text of one file want, alone or in lists; `file` names it in errors. Pure.

    Raises InvalidManifest.
    """
    endpoints: list[PlacedEndpoint] = []
    ignored: list[str] = []
    documents = objects = 0
    for place, node in parse_documents(text, Place(file)):
        documents += node is not None
        for found in _walk_objects(node, place):
            read = _find_reader(found)
            wanted = list(read(found)) if read is not None else []
            endpoints.extend(wanted)
            # A DNSEndpoint may say that nothing is wanted. What merely wants no name says nothing.
            if wanted or read is read_dns_endpoint:
                objects += 1
            else:
                ignored.append(_describe_ignored(found))
    return FileReading(tuple(endpoints), documents, objects, tuple(ignored))


def _walk_objects(node: Node, place: Place) -> Iterator[ManifestObject]:
    """The objects of a document in order; those of lists, and of lists in lists, one by one."""
    waiting = [(node, place)]
    while waiting:
        node, place = waiting.pop()
        if node is None:
            continue
        found = read_object(node, place)
        kind = (found.text("apiVersion"), found.text("kind"))
        if kind != _ANY_LIST and kind not in _LISTS:
            yield found
            continue
        found.raise_if_unknown(_LIST_FIELDS)
        inside = [(_name_kind(child, _LISTS.get(kind)), child.place) for child in found.children("items")]
        waiting.extend(reversed(inside))


def _name_kind(item: ManifestObject, kind: tuple[str, str] | None) -> Node:
    """The item of a list of one kind: the API server leaves its version and kind out."""
    if kind is None or "kind" in item.fields or "apiVersion" in item.fields:
        return item.fields
    return {**item.fields, "apiVersion": kind[0], "kind": kind[1]}


def _find_reader(found: ManifestObject) -> _Reader | None:
    """What reads an object of this kind; None for other kinds. What was surely meant to be one is refused."""
    api_version, kind = found.text("apiVersion"), found.text("kind")
    group, slash, _ = api_version.partition("/")
    if not slash:
        group = ""
    for (known_group, known_kind), (known_version, read) in _KINDS.items():
        if group != known_group or kind.lower() != known_kind.lower():
            continue
        if kind != known_kind:
            raise InvalidManifest(f"the kind is spelled {known_kind}.", found.place.field("kind"))
        if api_version != known_version:
            reason = f"this version is not known here; {known_version} is."
            raise InvalidManifest(reason, found.place.field("apiVersion"))
        return read
    return None


def _describe_ignored(found: ManifestObject) -> str:
    """Kind, name and place, as far as they are texts: nothing of another kind is judged."""
    metadata = found.fields.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    shown = safe_text(f"{found.text('kind')} {name}" if isinstance(name, str) else found.text("kind"))
    return f"{shown} ({found.place})"


def gather(endpoints: Iterable[PlacedEndpoint]) -> Iterator[Endpoint]:
    """Each record set once, in the order found. Raises InvalidManifest where one is wanted twice.

    Several Ingresses, or several Services, may want one: its targets are those of all of them, and its
    resource is the first of theirs by name, so that it stays the same whatever the order.
    """
    found: dict[EndpointKey, list[PlacedEndpoint]] = {}
    for placed in endpoints:
        found.setdefault(endpoint_key(placed.endpoint), []).append(placed)
    for key, group in found.items():
        yield group[0].endpoint if len(group) == 1 else _merge(key, group)


def _merge(key: EndpointKey, group: list[PlacedEndpoint]) -> Endpoint:
    first, *others = group
    what = " ".join(safe_text(part) for part in key if part)
    has_targets_of_all = key.record_type in _ADDRESSES
    for other in others:
        if _source_of(other) != _source_of(first) or _source_of(first) not in _MERGING:
            reason = f"{what} is declared a second time; {first.place} declares it already. Keep one of them."
            raise InvalidManifest(reason, other.place)
        if other.endpoint.record_ttl != first.endpoint.record_ttl:
            reason = f"{what} is wanted with another TTL than {first.place} wants. Give both the same."
            raise InvalidManifest(reason, other.place)
        if not has_targets_of_all and canonical_targets(other.endpoint) != canonical_targets(first.endpoint):
            reason = f"{what} is wanted with another target than {first.place} wants. Keep one of them."
            raise InvalidManifest(reason, other.place)
    kept = min(group, key=_resource_of).endpoint
    if not has_targets_of_all:
        return kept
    targets = sorted({target for each in group for target in each.endpoint.targets})
    return msgspec.structs.replace(kept, targets=tuple(targets))


def _resource_of(placed: PlacedEndpoint) -> str:
    return placed.endpoint.labels.get(RESOURCE, "")


def _source_of(placed: PlacedEndpoint) -> str:
    return _resource_of(placed).partition("/")[0]
