"""A DNSEndpoint object becomes endpoints, checked as ExternalDNS's API server and source check them. Pure."""

import re
from collections.abc import Iterator

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import ENCRYPTION_NONCE, OWNER, RESOURCE, format_labels
from providers.sources.errors import InvalidManifest
from providers.sources.manifest_fields import ManifestObject
from providers.sources.placed_endpoint import PlacedEndpoint, raise_if_bad, read_record_name, read_resource
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

_OBJECT_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_ENDPOINT_FIELDS = Endpoint.__struct_encode_fields__
_PROPERTY_FIELDS = ProviderSpecificProperty.__struct_encode_fields__

_RECORD_TYPE = re.compile(r"[A-Z][A-Z0-9]*").fullmatch


def read_dns_endpoint(found: ManifestObject) -> Iterator[PlacedEndpoint]:
    """The endpoints of one DNSEndpoint, under canonical names, each labelled with its resource.

    Raises InvalidManifest for the first thing that is not as it must be.
    """
    found.raise_if_unknown(_OBJECT_FIELDS)
    resource = read_resource("crd", found.child("metadata"))
    spec = found.child("spec")
    spec.raise_if_unknown(("endpoints",))
    for each in spec.children("endpoints"):
        yield PlacedEndpoint(each.place, _read_endpoint(each, resource))


def _read_endpoint(found: ManifestObject, resource: str) -> Endpoint:
    found.raise_if_unknown(_ENDPOINT_FIELDS)
    endpoint = Endpoint(
        dns_name=read_record_name(found.text("dnsName"), found.place.field("dnsName")),
        targets=found.texts("targets"),
        record_type=_read_record_type(found),
        set_identifier=found.optional_text("setIdentifier"),
        record_ttl=found.whole_number("recordTTL") or 0,
        labels={**_read_labels(found), RESOURCE: resource},
        provider_specific=_read_properties(found),
    )
    if not endpoint.targets:
        raise InvalidManifest(
            "it is missing; at least one target belongs here.", found.place.field("targets")
        )
    raise_if_bad(endpoint, found.place, found.place.field("targets"))
    return endpoint


def _read_record_type(found: ManifestObject) -> str:
    kind = found.text("recordType")
    if not _RECORD_TYPE(kind):
        reason = "a record type is written in upper-case letters, such as A or CNAME."
        raise InvalidManifest(reason, found.place.field("recordType"))
    return kind


def _read_labels(found: ManifestObject) -> dict[str, str]:
    labels = found.text_map("labels")
    place = found.place.field("labels")
    for key in (OWNER, ENCRYPTION_NONCE):
        if key in labels:
            raise InvalidManifest("the writer of the claim sets it; remove it here.", place.field(key))
    try:
        format_labels(labels)
    except UnwritableLabel as error:
        raise InvalidManifest(str(error), place) from None
    return labels


def _read_properties(found: ManifestObject) -> tuple[ProviderSpecificProperty, ...]:
    properties: dict[str, ProviderSpecificProperty] = {}
    for each in found.children("providerSpecific"):
        each.raise_if_unknown(_PROPERTY_FIELDS)
        name = each.text("name")
        if name in properties:
            raise InvalidManifest("the property is there twice; keep one.", each.place.field("name"))
        properties[name] = ProviderSpecificProperty(name, each.optional_text("value"))
    return tuple(properties.values())
