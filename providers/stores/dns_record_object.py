"""The CRD registry: a `DNSRecord` object for each record set, its owner in a label and in its endpoint.

Alpha in ExternalDNS, group `externaldns.k8s.io/v1alpha1`. An instance lists the objects that carry its owner
id in a label of their metadata, plans with the labels of `spec.endpoint`, and finds an object by its name.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from providers.registries.errors import UnwritableLabel
from providers.registries.kubernetes_object import (
    JsonValue,
    KubernetesObject,
    read_metadata,
    read_object,
    read_texts,
)
from providers.registries.labels import (
    OWNER,
    describe_unreadable_owner,
    format_writable,
    is_writable,
    parse_labels,
    parse_stored_labels,
)
from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.json_codec import decode_records
from providers.wire.poison import safe_text

CRD: Final = "crd"
API_VERSION: Final = "externaldns.k8s.io/v1alpha1"
KIND: Final = "DNSRecord"
OWNER_LABEL: Final = "externaldns.k8s.io/owner"
READY, PROGRAMMED = "Ready", "Programmed"
_MAX_NAME_LENGTH = 253
_MAX_OWNER_LENGTH = 63
_IS_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_TWICE = "Two objects claim its record set with the same text, so it is not known which one is meant."
_NO_LABEL = "Its endpoint names an owner, and its label none: no instance lists it."
_NO_OWNER = "Its label names an owner, and its endpoint none."


def read_dns_record(obj: Mapping[str, object]) -> StoredClaim | None:
    """The claim of one object; None where it names no owner at all. Never raises.

    Whether there is a record set (`status`) does not matter: an instance whose object is not programmed is
    about to create it, or failed to and tries again. An object whose endpoint cannot be read has a place
    of its own, which no record set has: its name, and no type.
    """
    endpoint, problem = _read_endpoint(obj)
    labelled = read_texts(obj, "metadata", "labels").get(OWNER_LABEL, "")
    if endpoint is None:
        if not labelled:
            return None
        key = EndpointKey(safe_text(read_metadata(obj, "name")), "", "")
        return StoredClaim(key, format_writable({OWNER: labelled}), problem)
    owner_id = endpoint.labels.get(OWNER, "")
    if not labelled and not owner_id:
        return None
    problem = _find_problem(labelled, owner_id) or describe_unreadable_owner(endpoint.labels)
    text = format_writable(endpoint.labels)
    if not problem and (parse_labels(text) or {}).get(OWNER) != owner_id:
        problem = "The owner id holds what no claim can represent."
    return StoredClaim(endpoint_key(endpoint), text, problem)


def read_claims(objects: Iterable[Mapping[str, object]]) -> list[StoredClaim]:
    """The claims of all objects. Several may claim one record set; none is listed twice."""
    found = [claim for claim in map(read_dns_record, objects) if claim is not None]
    counts = Counter((claim.key, claim.text) for claim in found)
    claims: dict[tuple[EndpointKey, str], StoredClaim] = {}
    for claim in found:
        place = claim.key, claim.text
        claims[place] = claim if counts[place] == 1 else StoredClaim(claim.key, claim.text, _TWICE)
    return list(claims.values())


def read_key(obj: Mapping[str, object]) -> EndpointKey | None:
    """The record set an object is about, owned or not; None if that cannot be read."""
    endpoint, _ = _read_endpoint(obj)
    return None if endpoint is None else endpoint_key(endpoint)


def write_dns_record(obj: KubernetesObject, text: str) -> KubernetesObject:
    """The object with this claim in place of its own: label and endpoint together, all else as it is.

    Labels of the endpoint that no heritage text can hold stay: a claim neither shows nor changes them.
    Raises RegistryError for a text that would not be read back the same.
    """
    labels = parse_owned_labels(text)
    beside = {**_copy(obj, "metadata", "labels"), OWNER_LABEL: labels[OWNER]}
    metadata: JsonValue = {**_copy(obj, "metadata"), "labels": beside}
    current = _copy(obj, "spec", "endpoint", "labels")
    kept = {key: value for key, value in current.items() if not is_writable(key, value)}
    endpoint: JsonValue = {**_copy(obj, "spec", "endpoint"), "labels": {**kept, **labels}}
    return {**obj, "metadata": metadata, "spec": {**_copy(obj, "spec"), "endpoint": endpoint}}


def build_unclaimed(record: Endpoint) -> KubernetesObject:
    """An object for a record set, named as an instance looks for it, without an owner."""
    named = msgspec.structs.replace(record, dns_name=record.dns_name.removesuffix("."), labels={})
    endpoint: JsonValue = msgspec.json.decode(msgspec.json.encode(named))
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": format_object_name(named)},
        "spec": {"endpoint": endpoint},
    }


def format_object_name(record: Endpoint) -> str:
    """The name under which an instance looks for the object of this record set.

    The readable part may be that of other record sets too; the first 8 digits of a hash tell them apart.
    """
    identity = f"{record.dns_name}/{record.record_type}/{record.set_identifier}"
    suffix = f"-{hashlib.sha256(identity.encode(errors='surrogatepass')).hexdigest()[:8]}"
    readable = _NOT_IN_A_NAME.sub("-", record.dns_name.lower()).strip("-")
    return (readable[: _MAX_NAME_LENGTH - len(suffix)].strip("-") or "record") + suffix


def is_programmed(obj: Mapping[str, object]) -> bool:
    """Whether the object says that its record set is at the provider."""
    conditions = read_object(obj, "status").get("conditions")
    found = [each for each in conditions if isinstance(each, dict)] if isinstance(conditions, list) else []
    return any(each.get("type") == READY and each.get("status") == "True" for each in found)


def build_programmed(obj: KubernetesObject, *, now: str) -> KubernetesObject:
    """The object, saying that its record set is at the provider since `now` (RFC 3339)."""
    condition: JsonValue = {
        "type": READY,
        "status": "True",
        "reason": PROGRAMMED,
        "message": "The provider showed this record set when it was claimed",
        "lastTransitionTime": now,
    }
    return {**obj, "status": {**_copy(obj, "status"), "conditions": [condition]}}


def parse_owned_labels(text: str) -> dict[str, str]:
    """The labels of a heritage text that an object is to hold. Raises RegistryError."""
    labels = parse_stored_labels(text, "a DNSRecord")
    raise_if_no_label_value(labels[OWNER])
    return labels


def raise_if_no_label_value(owner_id: str) -> None:
    """Raises UnwritableLabel for an owner id that Kubernetes does not take as a label of an object."""
    if len(owner_id) > _MAX_OWNER_LENGTH or not _IS_LABEL_VALUE(owner_id):
        raise UnwritableLabel(
            f"The owner id {safe_text(owner_id)!r} cannot be a label of a Kubernetes object, so the CRD "
            "registry cannot hold it: at most 63 letters, digits, -, _ and ., a letter or digit at both ends."
        )


def _read_endpoint(obj: Mapping[str, object]) -> tuple[Endpoint | None, str]:
    """The endpoint of an object, or why it has none: read and checked as a provider's would be."""
    value = read_object(obj, "spec").get("endpoint")
    if not isinstance(value, dict):
        return None, "The object has no endpoint."
    try:
        found = decode_records(f"[{json.dumps(value)}]".encode(), max_items=1)
    except (ValueError, RecursionError):
        return None, "The endpoint of the object cannot be read."
    if found.set_aside:
        return None, f"The endpoint of the object cannot be read: {found.set_aside[0].reason}."
    return found.endpoints[0], ""


def _find_problem(labelled: str, owner_id: str) -> str:
    if not labelled:
        return _NO_LABEL
    if not owner_id:
        return _NO_OWNER
    if labelled != owner_id:
        return (
            f"Its label names the owner {safe_text(labelled)!r}, and its endpoint "
            f"{safe_text(owner_id)!r}: instances disagree on its owner."
        )
    return ""


def _copy(obj: KubernetesObject, *path: str) -> dict[str, JsonValue]:
    """The object at a path, of which the first level may be changed."""
    found: JsonValue = obj
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return dict(found) if isinstance(found, dict) else {}
