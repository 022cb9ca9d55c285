"""A DNSEndpoint object becomes endpoints, checked as ExternalDNS's API server and source check them. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import ENCRYPTION_NONCE, OWNER, RESOURCE, format_labels
from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.sources.targets import find_bad_target
from providers.wire.canonical_name import InvalidName, canonical_name, has_second_reading
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.poison import find_poison

# kubectl takes it from its context, where there is none.
DEFAULT_NAMESPACE = "default"

_OBJECT_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA_FIELDS = tuple(
    "name namespace labels annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp "
    "finalizers generateName generation managedFields ownerReferences resourceVersion selfLink uid".split()
)
_ENDPOINT_FIELDS = Endpoint.__struct_encode_fields__
_PROPERTY_FIELDS = ProviderSpecificProperty.__struct_encode_fields__

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_MAX_OBJECT_NAME = 253
_RECORD_TYPE = re.compile(r"[A-Z][A-Z0-9]*").fullmatch
# A host name, with the underscores of services, and an asterisk for its whole first label.
_HOST_NAME = re.compile(
    r"(?:\*\.)?[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*+"
).fullmatch


class PlacedEndpoint(NamedTuple):
    """An endpoint and where it is declared."""

    place: Place
    endpoint: Endpoint


def read_dns_endpoint(found: ManifestObject) -> Iterator[PlacedEndpoint]:
    """The endpoints of one DNSEndpoint, under canonical names, each labelled with its resource.

    Raises InvalidManifest for the first thing that is not as it must be.
    """
    found.raise_if_unknown(_OBJECT_FIELDS)
    resource = _read_resource(found.child("metadata"))
    spec = found.child("spec")
    spec.raise_if_unknown(("endpoints",))
    for each in spec.children("endpoints"):
        yield PlacedEndpoint(each.place, _read_endpoint(each, resource))


def _read_resource(metadata: ManifestObject) -> str:
    """`crd/<namespace>/<name>`, as ExternalDNS's source for DNSEndpoints labels what it finds there."""
    metadata.raise_if_unknown(_METADATA_FIELDS)
    name = metadata.text("name")
    if len(name) > _MAX_OBJECT_NAME or not all(map(_DNS_LABEL, name.split("."))):
        reason = "no object can have this name; lower-case letters, digits, dots and hyphens make one."
        raise InvalidManifest(reason, metadata.place.field("name"))
    namespace = metadata.optional_text("namespace") or DEFAULT_NAMESPACE
    if not _DNS_LABEL(namespace):
        reason = "no namespace can have this name; up to 63 lower-case letters, digits and hyphens make one."
        raise InvalidManifest(reason, metadata.place.field("namespace"))
    return f"crd/{namespace}/{name}"


def _read_endpoint(found: ManifestObject, resource: str) -> Endpoint:
    found.raise_if_unknown(_ENDPOINT_FIELDS)
    endpoint = Endpoint(
        dns_name=_read_name(found),
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
    poison = find_poison(endpoint)
    if poison is not None:
        raise InvalidManifest(f"it holds {poison.reason}.", found.place.field(poison.field))
    bad = find_bad_target(endpoint)
    if bad is not None:
        index, reason = bad
        raise InvalidManifest(reason, found.place.field("targets").item(index))
    return endpoint


def _read_name(found: ManifestObject) -> str:
    place = found.place.field("dnsName")
    text = found.text("dnsName")
    try:
        name, is_ambiguous = canonical_name(text), has_second_reading(text)
    except InvalidName as error:
        raise InvalidManifest(f"it cannot be a name: {error.reason}.", place) from None
    if is_ambiguous:
        reason = "programs read it as different names; write the one that is meant in ASCII, with xn--."
        raise InvalidManifest(reason, place)
    if not _HOST_NAME(name):
        reason = (
            "it cannot be a name here: letters, digits, hyphens inside and underscores make a label, and an "
            "asterisk stands for the whole first one."
        )
        raise InvalidManifest(reason, place)
    return name


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
            raise InvalidManifest("whoever writes the claim sets it; remove it here.", place.field(key))
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
            raise InvalidManifest("the property stands there twice; keep one.", each.place.field("name"))
        properties[name] = ProviderSpecificProperty(name, each.optional_text("value"))
    return tuple(properties.values())
