"""DNSEndpoint manifests as `kubectl` takes them: YAML and JSON files of a directory, read as one wish.

All or nothing: whoever plans with half of what is wanted deletes the other half.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from providers.sources.dns_endpoint import PlacedEndpoint, read_dns_endpoint
from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject, read_object
from providers.sources.manifest_files import read_files
from providers.sources.manifest_tree import Node, parse_documents
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import safe_text

__all__ = ["FileReading", "InvalidManifest", "ManifestReading", "parse_manifests", "read_manifests"]

MAX_BYTES = 32 * 1024 * 1024
MAX_ENDPOINTS = 100_000

_GROUP = "externaldns.k8s.io"
_API_VERSION = f"{_GROUP}/v1alpha1"
_KIND = "DNSEndpoint"
_LISTS = (("v1", "List"), (_API_VERSION, f"{_KIND}List"))
_LIST_FIELDS = ("apiVersion", "kind", "metadata", "items")


@dataclass(frozen=True)
class FileReading:
    """What one file holds: its endpoints with their places, how many documents (empty ones not counted) and
    DNSEndpoints, and objects of other kinds."""

    endpoints: tuple[PlacedEndpoint, ...]
    documents: int
    objects: int
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class ManifestReading:
    """What all files of a directory want together. `ignored` names each object of another kind, with its
    place; `documents` counts them too."""

    endpoints: tuple[Endpoint, ...]
    files: int
    documents: int
    ignored: tuple[str, ...] = ()


def read_manifests(
    directory: Path, *, max_bytes: int = MAX_BYTES, max_endpoints: int = MAX_ENDPOINTS
) -> ManifestReading:
    """All that the `.yaml`, `.yml` and `.json` files at and below `directory` want, in order of their names.

    Names are canonical, and every endpoint carries the label `resource`, as ExternalDNS sets it. Raises
    InvalidManifest if any file cannot be taken, if two places want one record set, and if there is no
    DNSEndpoint at all: a directory that was not mounted is not the wish that all be deleted. Who means that
    writes a DNSEndpoint with `endpoints: []`.
    """
    readings: list[FileReading] = []
    declared: dict[EndpointKey, PlacedEndpoint] = {}
    for name, text in read_files(directory, max_bytes):
        reading = parse_manifests(text, file=name)
        readings.append(reading)
        _gather(reading.endpoints, declared, max_endpoints)
    if not any(reading.objects for reading in readings):
        reason = (
            "it holds no DNSEndpoint. If nothing is wanted any more, say so with a DNSEndpoint whose "
            "spec.endpoints is []."
        )
        raise InvalidManifest(reason, Place(str(directory)))
    return ManifestReading(
        endpoints=tuple(placed.endpoint for placed in declared.values()),
        files=len(readings),
        documents=sum(reading.documents for reading in readings),
        ignored=tuple(each for reading in readings for each in reading.ignored),
    )


def parse_manifests(text: bytes, *, file: str) -> FileReading:
    """The DNSEndpoints in the text of one file, alone or in lists; `file` names it in errors. Pure.

    Raises InvalidManifest.
    """
    endpoints: list[PlacedEndpoint] = []
    ignored: list[str] = []
    documents = objects = 0
    for place, node in parse_documents(text, Place(file)):
        documents += node is not None
        for found in _walk_objects(node, place):
            if _is_dns_endpoint(found):
                objects += 1
                endpoints.extend(read_dns_endpoint(found))
            else:
                ignored.append(_describe_ignored(found))
    return FileReading(tuple(endpoints), documents, objects, tuple(ignored))


def _gather(
    endpoints: tuple[PlacedEndpoint, ...], declared: dict[EndpointKey, PlacedEndpoint], max_endpoints: int
) -> None:
    for placed in endpoints:
        key = endpoint_key(placed.endpoint)
        first = declared.setdefault(key, placed)
        if first is not placed:
            what = " ".join(safe_text(part) for part in key if part)
            reason = f"{what} is declared a second time; {first.place} declares it already. Keep one of them."
            raise InvalidManifest(reason, placed.place)
        if len(declared) > max_endpoints:
            raise InvalidManifest(f"more than {max_endpoints} endpoints, the limit here.", placed.place)


def _walk_objects(node: Node, place: Place) -> Iterator[ManifestObject]:
    """The objects of a document in order; those of lists, and of lists in lists, one by one."""
    waiting = [(node, place)]
    while waiting:
        node, place = waiting.pop()
        if node is None:
            continue
        found = read_object(node, place)
        if (found.text("apiVersion"), found.text("kind")) not in _LISTS:
            yield found
            continue
        found.raise_if_unknown(_LIST_FIELDS)
        inside = [(child.fields, child.place) for child in found.children("items")]
        waiting.extend(reversed(inside))


def _is_dns_endpoint(found: ManifestObject) -> bool:
    """Whether this is ours to read. What was surely meant to be is refused rather than passed over."""
    api_version, kind = found.text("apiVersion"), found.text("kind")
    group, _, _version = api_version.partition("/")
    if group != _GROUP or kind.lower() != _KIND.lower():
        return False
    if kind != _KIND:
        raise InvalidManifest(f"the kind is spelled {_KIND}.", found.place.field("kind"))
    if api_version != _API_VERSION:
        reason = f"this version is not known here; {_API_VERSION} is."
        raise InvalidManifest(reason, found.place.field("apiVersion"))
    return True


def _describe_ignored(found: ManifestObject) -> str:
    """Kind, name and place, as far as they are texts: nothing of another kind is judged."""
    metadata = found.fields.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    shown = safe_text(f"{found.text('kind')} {name}" if isinstance(name, str) else found.text("kind"))
    return f"{shown} ({found.place})"
