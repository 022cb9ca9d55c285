"""JSON of a Kubernetes API, read strictly: what could not be written back as it came is refused."""

import json
from collections.abc import Mapping

from providers.registries.kubernetes_object import JsonValue
from providers.wire.strict_json import NotStrictJson, parse_strict_json

# An object's `managedFields` nest deepest: a dozen levels in an honest list.
MAX_DEPTH = 32


def decode_object(body: bytes) -> dict[str, JsonValue]:
    """The JSON object that a body is. Raises NotStrictJson."""
    found: JsonValue = parse_strict_json(body, max_depth=MAX_DEPTH)
    if not isinstance(found, dict):
        raise NotStrictJson("not an object")
    return found


def encode_object(obj: Mapping[str, JsonValue]) -> bytes:
    """The bytes of a JSON object."""
    return json.dumps(obj, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
