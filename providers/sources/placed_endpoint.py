"""An endpoint and where it is declared, with the checks that all kinds of manifests share. Pure.

ExternalDNS logs a target it cannot take and leaves its endpoint out: under policy sync its record goes. Here
the manifest is refused. Its releases differ on the last dot of CNAME, MX and SRV: both spellings are taken.
"""

import ipaddress
import re
from typing import NamedTuple

from providers.registries.labels import parse_labels
from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.wire.canonical_name import InvalidName, canonical_name, has_second_reading
from providers.wire.endpoint import Endpoint
from providers.wire.poison import find_poison

# kubectl takes it from its context, where there is none.
DEFAULT_NAMESPACE = "default"

_METADATA_FIELDS = (
    "name",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_MAX_OBJECT_NAME = 253
# A host name, with the underscores of services, and an asterisk for its whole first label.
_HOST_NAME = re.compile(
    r"(?:\*\.)?[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*+"
).fullmatch

_DOT_IS_FREE = ("CNAME", "DNAME", "MX", "SRV", "TXT")
_MAX_PORT = 2**16 - 1
_CLAIM = "it is an ownership claim, which is never declared: claims are written with records."
_BETWEEN_STRINGS = str.maketrans("", "", '" ')
# Numbers before the name in a target.
_LEADING_NUMBERS = {"MX": ("preference",), "SRV": ("priority", "weight", "port")}


class PlacedEndpoint(NamedTuple):
    """An endpoint and where it is declared."""

    place: Place
    endpoint: Endpoint


def raise_if_bad(endpoint: Endpoint, place: Place, targets: Place) -> None:
    """Refuse what no provider can hold: characters nobody can show, and targets that cannot be held.

    `targets` is where those are written, `place` where all the rest is.
    """
    poison = find_poison(endpoint)
    if poison is not None:
        where = targets if poison.field == "targets" else place.field(poison.field)
        raise InvalidManifest(f"it holds {poison.reason}.", where)
    bad = find_bad_target(endpoint)
    if bad is not None:
        index, reason = bad
        raise InvalidManifest(reason, targets.item(index))


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


def find_bad_target(endpoint: Endpoint) -> tuple[int, str] | None:
    """The position of the first target that cannot be held, and what to write; None if all can."""
    for index, target in enumerate(endpoint.targets):
        reason = _find_fault(endpoint, target)
        if reason:
            return index, reason
    return None


def _find_fault(endpoint: Endpoint, target: str) -> str:
    kind = endpoint.record_type
    if target != target.strip():
        return "it has white space around it; remove it."
    if kind == "TXT":
        return _CLAIM if _is_claim(target) else ""
    if kind == "NAPTR":
        return "" if target.endswith(".") else "it must end with a dot."
    if kind in ("A", "AAAA"):
        return _find_fault_of_address(endpoint, target)
    if kind in _LEADING_NUMBERS:
        return _find_fault_of_numbers(kind, target)
    if target.endswith(".") and kind not in _DOT_IS_FREE:
        return "it must not end with a dot."
    if kind in ("CNAME", "DNAME", "NS", "PTR"):
        return _find_fault_of_name(target)
    return ""


def _is_claim(target: str) -> bool:
    """Whether it is one once its strings are put together, however they are cut."""
    return parse_labels(target.translate(_BETWEEN_STRINGS)) is not None


def _find_fault_of_address(endpoint: Endpoint, target: str) -> str:
    if target.endswith("."):
        return "it must not end with a dot."
    version = 4 if endpoint.record_type == "A" else 6
    try:
        address = ipaddress.ip_address(target)
    except ValueError:
        if any(each.name == "alias" for each in endpoint.provider_specific):
            return _find_fault_of_name(target)
        return f"it is no IPv{version} address; a name belongs into a CNAME, or needs the property alias."
    if address.version != version:
        return f"it is an IPv{address.version} address, which belongs into {'AAAA' if version == 4 else 'A'}."
    if "%" in target:
        return "an address in the DNS has no zone; remove the part from % on."
    return ""


def _find_fault_of_numbers(kind: str, target: str) -> str:
    numbers = _LEADING_NUMBERS[kind]
    words = target.split()
    are_numbers = all(word.isascii() and word.isdigit() and len(word) <= 5 for word in words[:-1])
    if len(words) != len(numbers) + 1 or not are_numbers or any(int(word) > _MAX_PORT for word in words[:-1]):
        return f"it must be {', '.join(numbers)} (0 to {_MAX_PORT}) and a name, with spaces between them."
    if words[-1] == ".":
        return ""  # the root: "no such service", "no mail here"
    return _find_fault_of_name(words[-1])


def _find_fault_of_name(text: str) -> str:
    try:
        canonical_name(text)
    except InvalidName as error:
        return f"it cannot be a name: {error.reason}."
    return ""
