"""The JSON of a Kubernetes API, read strictly: what could not be written back as it came is refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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


def complete_object(item: JsonValue, question: Question) -> KubernetesObject:
    """The object asked for as it can be written back. Raises NotStrictJson for anything else.

    Lists of the core group leave kind and version out of their items, which a write must have.
    """
    resource = question.resource
    if isinstance(item, dict):
        obj: KubernetesObject = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        name, version = (read_metadata(obj, key) for key in ("name", "resourceVersion"))
        found = (obj["apiVersion"], obj["kind"], read_metadata(obj, "namespace"), name)
        asked = (resource.api_version, resource.kind, question.namespace, question.name or name)
        if found == asked and name and version:
            return obj
    raise NotStrictJson(f"something else than the {resource.kind} asked for, or one without its metadata")


def read_answer(question: Question, body: bytes) -> KubernetesObject:
    """The one object that is asked for or written, in the body of the answer. Raises NotStrictJson."""
    return complete_object(decode_object(body), question)


def read_git_version(body: bytes) -> str:
    """The version that an API says it has. Raises NotStrictJson."""
    version = decode_object(body).get("gitVersion")
    if not isinstance(version, str) or not version:
        raise NotStrictJson("it does not say its version as a Kubernetes API does")
    return version


@dataclass
class Listing:
    """The answer to a list while it is read page by page.

    `is_partial`: the metadata of the objects is enough, whether an API sends more or not.
    """

    question: Question
    is_partial: bool
    objects: dict[str, KubernetesObject] = field(default_factory=dict)
    # Each asked for one page; the last one, if it is not empty, asks for the next.
    tokens: list[str] = field(default_factory=list)
    byte_count: int = 0

    def add(self, body: bytes) -> None:
        """Add a page. Raises NotStrictJson."""
        page = decode_object(body)
        kind, items = page.get("kind"), page.get("items")
        if kind != f"{self.question.resource.kind}List" and not (self.is_partial and kind == PARTIAL_LIST):
            raise NotStrictJson("it is a list of something else, or no list")
        if not isinstance(items, list):
            raise NotStrictJson("it has no items")
        for item in items:
            metadata = {"metadata": item.get("metadata")} if isinstance(item, dict) else {}
            obj = complete_object(metadata if self.is_partial else item, self.question)
            if self.objects.setdefault(read_metadata(obj, "name"), obj) is not obj:
                raise NotStrictJson("an object is in it twice")
        token = read_object(page, "metadata").get("continue", "")
        if not isinstance(token, str) or token in self.tokens:
            raise NotStrictJson("it does not say how it goes on")
        self.tokens.append(token)
        self.byte_count += len(body)
