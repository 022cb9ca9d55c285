"""Names in manifests: of objects, and of the record sets they want. Pure."""

import re

from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.wire.canonical_name import InvalidName, canonical_name, has_second_reading

# kubectl takes it from its context, where there is none.
DEFAULT_NAMESPACE = "default"

_METADATA_FIELDS = tuple(
    "name namespace labels annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp "
    "finalizers generateName generation managedFields ownerReferences resourceVersion selfLink uid".split()
)
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_MAX_OBJECT_NAME = 253
# A host name, with the underscores of services, and an asterisk for its whole first label.
_HOST_NAME = re.compile(
    r"(?:\*\.)?[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*+"
).fullmatch


def read_resource(source: str, metadata: ManifestObject) -> str:
    """`<source>/<namespace>/<name>`, as ExternalDNS labels what it finds in an object."""
    metadata.raise_if_unknown(_METADATA_FIELDS)
    name = metadata.text("name")
    if len(name) > _MAX_OBJECT_NAME or not all(map(_DNS_LABEL, name.split("."))):
        reason = "no object can have this name; lower-case letters, digits, dots and hyphens make one."
        raise InvalidManifest(reason, metadata.place.field("name"))
    namespace = metadata.optional_text("namespace") or DEFAULT_NAMESPACE
    if not _DNS_LABEL(namespace):
        reason = "no namespace can have this name; up to 63 lower-case letters, digits and hyphens make one."
        raise InvalidManifest(reason, metadata.place.field("namespace"))
    return f"{source}/{namespace}/{name}"


def read_record_name(text: str, place: Place) -> str:
    """The canonical name of a record set. Raises InvalidManifest for what cannot be one, or is not clear."""
    try:
        name, is_ambiguous = canonical_name(text), has_second_reading(text)
    except InvalidName as error:
        raise InvalidManifest(f"it cannot be a name: {error.reason}.", place) from None
    if is_ambiguous:
        reason = "programs read it as different names; write the one that is meant in ASCII, with xn--."
        raise InvalidManifest(reason, place)
    if not _HOST_NAME(name):
        reason = (
            "it cannot be a name here: letters, digits, hyphens inside and underscores make a label, "
            "and an asterisk can only be the whole first one."
        )
        raise InvalidManifest(reason, place)
    return name
