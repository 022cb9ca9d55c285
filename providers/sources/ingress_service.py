"""Ingresses and Services become endpoints, as ExternalDNS's sources for them have them. Pure."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import RESOURCE, format_labels
from providers.sources.annotations import Annotations, read_annotations
from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.sources.placed_endpoint import PlacedEndpoint, raise_if_bad, read_record_name, read_resource
from providers.wire.endpoint import Endpoint

_HOSTNAME_SOURCE = "ingress-hostname-source"
_DEFINED_ONLY, _ANNOTATION_ONLY = "defined-hosts-only", "annotation-only"
_HEADLESS = "None"


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


def _read_annotated_hosts(annotations: Annotations, name: str) -> list[Host]:
    """The host names of an annotation."""
    return [Host(text, annotations.place(name)) for text in annotations.names(name)]


def _read_annotated_targets(annotations: Annotations) -> Targets | None:
    """The targets of the annotation `target`; None where it is missing or empty."""
    texts = annotations.targets()
    return Targets(texts, annotations.place("target")) if texts else None


def _read_load_balancer(found: ManifestObject) -> Targets:
    """The addresses and names that the cluster wrote into the object's status."""
    balancer = found.child("status").child("loadBalancer")
    texts = [
        text
        for each in balancer.children("ingress")
        for text in (each.optional_text("ip"), each.optional_text("hostname"))
        if text
    ]
    return Targets(tuple(texts), balancer.place.field("ingress"))


def _build_endpoints(
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


def read_ingress(found: ManifestObject) -> Iterator[PlacedEndpoint]:
    """The endpoints of one Ingress; none where it is for another controller or wants no names.

    Raises InvalidManifest for the first thing that is not as it must be.
    """
    metadata = found.child("metadata")
    resource = read_resource("ingress", metadata)
    annotations = read_annotations(metadata)
    if annotations.is_for_others:
        return
    hosts = _choose_hosts(found.child("spec"), annotations)
    targets = _read_annotated_targets(annotations) or _read_load_balancer(found)
    yield from _build_endpoints(hosts, targets, annotations, resource)


def _choose_hosts(spec: ManifestObject, annotations: Annotations) -> list[Host]:
    annotated = _read_annotated_hosts(annotations, "hostname")
    source = annotations.texts.get(_HOSTNAME_SOURCE)
    if source is None:
        return [*_list_defined(spec), *annotated]
    if source.lower() == _DEFINED_ONLY:
        return list(_list_defined(spec))
    if source.lower() == _ANNOTATION_ONLY:
        return annotated
    reason = f"ExternalDNS makes nothing of it; write {_DEFINED_ONLY} or {_ANNOTATION_ONLY}."
    raise InvalidManifest(reason, annotations.place(_HOSTNAME_SOURCE))


def _list_defined(spec: ManifestObject) -> Iterator[Host]:
    """The hosts of rules and of certificates; a rule without one is for any host."""
    for rule in spec.children("rules"):
        host = rule.optional_text("host")
        if host:
            yield Host(host, rule.place.field("host"))
    for tls in spec.children("tls"):
        place = tls.place.field("hosts")
        for index, host in enumerate(tls.texts("hosts")):
            yield Host(host, place.item(index))


def read_service(found: ManifestObject) -> Iterator[PlacedEndpoint]:
    """The endpoints of one Service; none where it is for another controller or wants no names.

    `hostname` stands for the load balancer, `internal-hostname` for the address inside the cluster, and
    `target` for both. Raises InvalidManifest for the first thing that is not as it must be.
    """
    metadata = found.child("metadata")
    resource = read_resource("service", metadata)
    annotations = read_annotations(metadata)
    if annotations.is_for_others:
        return
    given = _read_annotated_targets(annotations)
    for annotation, is_internal in (("hostname", False), ("internal-hostname", True)):
        hosts = _read_annotated_hosts(annotations, annotation)
        if not hosts:
            continue
        targets = given or _find_targets(found, hosts[0], is_internal=is_internal)
        if targets is not None:
            yield from _build_endpoints(hosts, targets, annotations, resource)


def _find_targets(found: ManifestObject, host: Host, *, is_internal: bool) -> Targets | None:
    """What the names stand for; None where ExternalDNS makes no record for them."""
    spec = found.child("spec")
    kind = spec.optional_text("type") or "ClusterIP"
    if kind == "LoadBalancer":
        if is_internal:
            return _read_cluster_ip(spec)
        return _read_external_ips(spec) or _read_load_balancer(found)
    if kind == "ExternalName":
        text = spec.optional_text("externalName")
        return _read_external_ips(spec) or Targets((text,) if text else (), spec.place.field("externalName"))
    if kind == "ClusterIP" and spec.optional_text("clusterIP") != _HEADLESS:
        return _read_cluster_ip(spec) if is_internal else None
    reason = (
        "the addresses behind it are those of nodes or pods, which no manifest has; give it the annotation "
        "`target`, or leave the name out."
    )
    raise InvalidManifest(reason, host.place)


def _read_external_ips(spec: ManifestObject) -> Targets | None:
    texts = spec.texts("externalIPs")
    return Targets(texts, spec.place.field("externalIPs")) if texts else None


def _read_cluster_ip(spec: ManifestObject) -> Targets:
    text = spec.optional_text("clusterIP")
    return Targets((text,) if text and text != _HEADLESS else (), spec.place.field("clusterIP"))
