"""What the API accepts as an object: names, labels, kinds and sizes."""

import re

from providers.registries.kubernetes_object import (
    JsonValue,
    KubernetesObject,
    read_metadata,
    read_object,
)
from tests.kubernetes_api.status import bad_request, invalid

MOST_DATA_BYTES = 1024 * 1024
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*").fullmatch
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?").fullmatch
_LABEL_KEY = re.compile(r"([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?").fullmatch
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}").fullmatch
_CONFIG_MAP_FIELDS = ("apiVersion", "kind", "metadata", "data", "binaryData", "immutable")
_METADATA_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
)


def raise_if_invalid(obj: KubernetesObject, kind: str, plural: str, namespace: str) -> None:
    """Raise ApiError for an object that the API would not store under this resource and namespace."""
    name = read_metadata(obj, "name")
    if not isinstance(obj.get("metadata"), dict):
        raise bad_request("metadata is missing")
    if not name or len(name) > 253 or not _SUBDOMAIN(name):
        raise invalid(kind, plural, name, f'metadata.name: Invalid value: "{name}"')
    if read_metadata(obj, "namespace") not in ("", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace of the request")
    _raise_if_not_texts(obj, "labels")
    _raise_if_not_texts(obj, "annotations")
    for key, value in read_object(obj, "metadata", "labels").items():
        if not _LABEL_KEY(key) or not isinstance(value, str) or not _LABEL_VALUE(value):
            raise invalid(kind, plural, name, f'metadata.labels: Invalid value: "{value}"')
    if kind == "ConfigMap":
        _raise_if_no_config_map(obj, name)


def without_unknown(obj: KubernetesObject, kind: str) -> KubernetesObject:
    """The object as it is stored: of its metadata, and of a ConfigMap, unknown fields are dropped."""
    metadata = obj["metadata"]
    if not isinstance(metadata, dict):
        raise bad_request("metadata is no object")
    kept: KubernetesObject = {
        key: value for key, value in obj.items() if kind != "ConfigMap" or key in _CONFIG_MAP_FIELDS
    }
    kept["metadata"] = {key: value for key, value in metadata.items() if key in _METADATA_FIELDS}
    return kept


def _raise_if_no_config_map(obj: KubernetesObject, name: str) -> None:
    size = 0
    for field in ("data", "binaryData"):
        values = obj.get(field) or {}
        if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
            raise bad_request(f"json: cannot unmarshal into Go struct field ConfigMap.{field} of type string")
        bad = [key for key in values if not _DATA_KEY(key)]
        if bad:
            raise invalid("ConfigMap", "configmaps", name, f'{field}[{bad[0]}]: Invalid value: "{bad[0]}"')
        size += sum(len(str(value).encode()) for value in values.values())
    if size > MOST_DATA_BYTES:
        problem = f"[]: Too long: may not be more than {MOST_DATA_BYTES} bytes"
        raise invalid("ConfigMap", "configmaps", name, problem)


def _raise_if_not_texts(obj: KubernetesObject, field: str) -> None:
    found: JsonValue | object = read_object(obj, "metadata").get(field)
    if found is None:
        return
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.{field} of type string")
