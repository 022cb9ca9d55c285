"""A Service becomes endpoints, as ExternalDNS's source for it has them. Pure."""

from collections.abc import Iterator

from providers.sources.annotations import read_annotations
from providers.sources.errors import InvalidManifest
from providers.sources.manifest_fields import ManifestObject
from providers.sources.object_names import read_resource
from providers.sources.placed_endpoint import PlacedEndpoint
from providers.sources.wanted_hosts import (
    Host,
    Targets,
    build_endpoints,
    read_annotated_hosts,
    read_annotated_targets,
    read_load_balancer,
)

_HEADLESS = "None"


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
    given = read_annotated_targets(annotations)
    for annotation, is_internal in (("hostname", False), ("internal-hostname", True)):
        hosts = read_annotated_hosts(annotations, annotation)
        if not hosts:
            continue
        targets = given or _find_targets(found, hosts[0], is_internal=is_internal)
        if targets is not None:
            yield from build_endpoints(hosts, targets, annotations, resource)


def _find_targets(found: ManifestObject, host: Host, *, is_internal: bool) -> Targets | None:
    """What the names stand for; None where ExternalDNS makes no record for them."""
    spec = found.child("spec")
    kind = spec.optional_text("type") or "ClusterIP"
    if kind == "LoadBalancer":
        if is_internal:
            return _read_cluster_ip(spec)
        return _read_external_ips(spec) or read_load_balancer(found)
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
