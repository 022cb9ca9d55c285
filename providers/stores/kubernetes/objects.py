"""The JSON of a Kubernetes API, read strictly: what could not be written back as it came is refused."""

import json
from collections.abc import Mapping
from typing import Final

from providers.registries.kubernetes_object import JsonValue, KubernetesObject, read_metadata, read_object
from providers.stores.kubernetes.question import Question
from providers.wire.strict_json import NotStrictJson, parse_strict_json

# An object's `managedFields` nest deepest: a dozen levels in an honest list.
MAX_DEPTH = 32
PARTIAL_LIST: Final = "PartialObjectMetadataList"


def decode_object(body: bytes) -> dict[str, JsonValue]:
    """The JSON object that a body is. Raises NotStrictJson."""
    found: JsonValue = parse_strict_json(body, max_depth=MAX_DEPTH)
    if not isinstance(found, dict):
        raise NotStrictJson("not an object")
    return found


def encode_object(obj: Mapping[str, JsonValue]) -> bytes:
    """The bytes of a JSON object."""
    return json.dumps(obj, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def complete_object(item: JsonValue, question: Question) -> KubernetesObject | None:
    """An object of the kind asked for as it can be written back; None for what is none.

    Lists of the core group leave kind and version out of their items, which a write must have.
    """
    if not isinstance(item, dict):
        return None
    resource = question.resource
    obj: KubernetesObject = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
    is_meant = (obj["apiVersion"], obj["kind"]) == (resource.api_version, resource.kind)
    has_place = read_metadata(obj, "namespace") == question.namespace
    has_identity = read_metadata(obj, "name") and read_metadata(obj, "resourceVersion")
    return obj if is_meant and has_place and has_identity else None


def read_page(
    body: bytes, question: Question, objects: dict[str, KubernetesObject], *, is_partial: bool
) -> str:
    """Add the objects of a page of a list; the token that asks for the next one, empty after the last.

    `is_partial`: the metadata of the objects is enough, whether an API sends more or not. Raises
    NotStrictJson.
    """
    page = decode_object(body)
    kind, items = page.get("kind"), page.get("items")
    if kind != f"{question.resource.kind}List" and not (is_partial and kind == PARTIAL_LIST):
        raise NotStrictJson("it is a list of something else, or no list")
    if not isinstance(items, list):
        raise NotStrictJson("it has no items")
    for item in items:
        metadata = {"metadata": item.get("metadata")} if isinstance(item, dict) else {}
        obj = complete_object(metadata if is_partial else item, question)
        if obj is None:
            raise NotStrictJson("an item of it is no such object, or has no metadata")
        if objects.setdefault(read_metadata(obj, "name"), obj) is not obj:
            raise NotStrictJson("an object is in it twice")
    token = read_object(page, "metadata").get("continue", "")
    if not isinstance(token, str):
        raise NotStrictJson("it does not say how it goes on")
    return token
