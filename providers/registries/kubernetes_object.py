"""Objects of a Kubernetes API as values: JSON as it came; what we do not know is written back as it was."""

import re
from collections.abc import Mapping

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
KubernetesObject = dict[str, JsonValue]

# A DNS-1123 subdomain. Possessive: on a hostile name the matching could be quadratic.
MAX_OBJECT_NAME_LENGTH = 253
_LABEL = r"[a-z0-9](?:[-a-z0-9]*+(?<=[a-z0-9]))?+"
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+").fullmatch


def is_object_name(text: str) -> bool:
    """Whether a Kubernetes API takes this for the name of an object."""
    return len(text) <= MAX_OBJECT_NAME_LENGTH and _SUBDOMAIN(text) is not None


def read_object(obj: Mapping[str, object], *path: str) -> Mapping[str, object]:
    """The object at a path of keys; an empty one where there is none, or something else stands there."""
    found: object = obj
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def read_metadata(obj: Mapping[str, object], key: str) -> str:
    """A text of the metadata (`name`, `namespace`, `resourceVersion`, `uid`); empty where there is none."""
    found = read_object(obj, "metadata").get(key)
    return found if isinstance(found, str) else ""


def read_version(obj: Mapping[str, object]) -> tuple[str, str]:
    """Which version of which object it is."""
    return read_metadata(obj, "uid"), read_metadata(obj, "resourceVersion")


def read_texts(obj: Mapping[str, object], *path: str) -> dict[str, str]:
    """The texts of a map of texts (`data`; `metadata`, `labels`), without what is no text in it."""
    return {key: value for key, value in read_object(obj, *path).items() if isinstance(value, str)}
