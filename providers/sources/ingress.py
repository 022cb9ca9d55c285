"""An Ingress becomes endpoints, as ExternalDNS's source for it has them. Pure."""

from collections.abc import Iterator

from providers.sources.annotations import Annotations, read_annotations
from providers.sources.errors import InvalidManifest
from providers.sources.manifest_fields import ManifestObject
from providers.sources.object_names import read_resource
from providers.sources.placed_endpoint import PlacedEndpoint
from providers.sources.wanted_hosts import (
    Host,
    build_endpoints,
    read_annotated_hosts,
    read_annotated_targets,
    read_load_balancer,
)

_HOSTNAME_SOURCE = "ingress-hostname-source"
_DEFINED_ONLY, _ANNOTATION_ONLY = "defined-hosts-only", "annotation-only"


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
    targets = read_annotated_targets(annotations) or read_load_balancer(found)
    yield from build_endpoints(hosts, targets, annotations, resource)


def _choose_hosts(spec: ManifestObject, annotations: Annotations) -> list[Host]:
    annotated = read_annotated_hosts(annotations, "hostname")
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
