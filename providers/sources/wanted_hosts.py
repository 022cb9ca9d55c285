"""What an Ingress or a Service wants: host names, and targets by their kind. Pure."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import RESOURCE, format_labels
from providers.sources.annotations import Annotations
from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.sources.object_names import read_record_name
from providers.sources.placed_endpoint import PlacedEndpoint, raise_if_bad
from providers.wire.endpoint import Endpoint


@dataclass(frozen=True)
class Host:
    """One host name, and where it is written."""

    text: str
    place: Place


@dataclass(frozen=True)
class Targets:
    """Addresses and names, and where they are written."""

    texts: tuple[str, ...]
    place: Place


def read_annotated_hosts(annotations: Annotations, name: str) -> list[Host]:
    """The host names of an annotation."""
    return [Host(text, annotations.place(name)) for text in annotations.names(name)]


def read_annotated_targets(annotations: Annotations) -> Targets | None:
    """The targets of the annotation `target`; None where it is missing or empty."""
    texts = annotations.targets()
    return Targets(texts, annotations.place("target")) if texts else None


def read_load_balancer(found: ManifestObject) -> Targets:
    """The addresses and names that the cluster wrote into the object's status."""
    balancer = found.child("status").child("loadBalancer")
    texts = [
        text
        for each in balancer.children("ingress")
        for text in (each.optional_text("ip"), each.optional_text("hostname"))
        if text
    ]
    return Targets(tuple(texts), balancer.place.field("ingress"))


def build_endpoints(
    hosts: Sequence[Host], targets: Targets, annotations: Annotations, resource: str
) -> Iterator[PlacedEndpoint]:
    """For each host an A of the IPv4 addresses, an AAAA of the IPv6 ones and a CNAME of the names."""
    if not hosts:
        return
    if not targets.texts:
        reason = (
            "no target is known for the names it wants. Take the object from the cluster (kubectl get -o "
            "yaml): its status has the address. Or give it the annotation `target`."
        )
        raise InvalidManifest(reason, targets.place)
    patterns = _build_patterns(hosts[0], targets, annotations, resource)
    for host in hosts:
        name = read_record_name(host.text, host.place)
        for pattern in patterns:
            yield PlacedEndpoint(host.place, msgspec.structs.replace(pattern, dns_name=name))


def _build_patterns(host: Host, targets: Targets, annotations: Annotations, resource: str) -> list[Endpoint]:
    """The endpoints of one host: those of others differ in their name alone, so they are checked once."""
    _raise_if_unwritable(resource, targets.place)
    name = read_record_name(host.text, host.place)
    by_type: dict[str, list[str]] = {}
    for target in dict.fromkeys(targets.texts):
        by_type.setdefault(_find_type(target), []).append(target.removesuffix("."))
    patterns = [
        Endpoint(
            dns_name=name,
            targets=tuple(by_type[record_type]),
            record_type=record_type,
            set_identifier=annotations.set_identifier(),
            record_ttl=annotations.ttl(),
            labels={RESOURCE: resource},
            provider_specific=annotations.properties(),
        )
        for record_type in sorted(by_type)
    ]
    for pattern in patterns:
        raise_if_bad(pattern, host.place, targets.place)
    return patterns


def _find_type(target: str) -> str:
    try:
        return "A" if ipaddress.ip_address(target).version == 4 else "AAAA"
    except ValueError:
        return "CNAME"


def _raise_if_unwritable(resource: str, place: Place) -> None:
    try:
        format_labels({RESOURCE: resource})
    except UnwritableLabel as error:
        raise InvalidManifest(str(error), place) from None
