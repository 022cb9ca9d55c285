"""What is asked of a Kubernetes API, and the JSON of its objects, read strictly: what could not be written
back as it came is refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from providers.http.errors import ProviderError
from providers.registries.kubernetes_object import (
    JsonValue,
    KubernetesObject,
    is_object_name,
    read_metadata,
    read_object,
)
from providers.wire.strict_json import NotStrictJson, parse_strict_json

# An object's `managedFields` nest deepest: a dozen levels in an honest list.
MAX_DEPTH = 32


class InvalidObjectName(ProviderError, code="invalid_object_name"):
    """The text cannot name an object or a namespace of a Kubernetes API; nothing was sent."""


@dataclass(frozen=True)
class Resource:
    """One kind of objects: the root of its API, its plural in paths, and its `kind` in the objects.

    `page_size`: how many are asked for at once, so that a page of large ones stays below a body's limit.
    """

    api: str
    plural: str
    kind: str
    page_size: int = 500

    @property
    def api_version(self) -> str:
        """What its objects say in `apiVersion`."""
        return self.api.partition("/")[2]

    @property
    def api_group(self) -> str:
        """What a Role says in `apiGroups`; empty for the core group."""
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True)
class Question:
    """What was asked: a verb as a Role names it, and of what. Without a `name`: of all objects; without a
    `namespace`: of one that is in none."""

    verb: str
    resource: Resource
    namespace: str | None
    name: str | None = None
    subresource: str = ""

    @property
    def plural(self) -> str:
        """The resource as a Role names it."""
        return f"{self.resource.plural}{self.subresource}"

    @property
    def path(self) -> str:
        """Where it is asked, below the address of the API. Raises InvalidObjectName for what cannot be a
        name: it would become part of the path."""
        for text in (self.namespace, self.name):
            if text is not None and not is_object_name(text):
                raise InvalidObjectName(
                    f"{text[:253]!r} is not the name of an object or a namespace; nothing was sent.",
                    hint="It takes at most 253 lower-case letters, digits, `-` and `.`.",
                )
        inside = f"namespaces/{self.namespace}/" if self.namespace else ""
        place = f"{self.resource.api}/{inside}{self.resource.plural}"
        is_one = self.name is not None and self.verb in ("get", "update", "delete")
        return f"{place}/{self.name}{self.subresource}" if is_one else place

    def __str__(self) -> str:
        what = f"{self.verb} {self.plural} {self.name or ''}".rstrip()
        return f"{what} in namespace {self.namespace}" if self.namespace else what


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


def read_page(question: Question, body: bytes) -> tuple[list[KubernetesObject], str]:
    """The objects of one page of a list, and what to ask the next one with, if there is one. Raises
    NotStrictJson."""
    page = decode_object(body)
    items, token = page.get("items"), read_object(page, "metadata").get("continue", "")
    if page.get("kind") != f"{question.resource.kind}List":
        raise NotStrictJson("it is a list of something else, or no list")
    if not isinstance(items, list) or not isinstance(token, str):
        raise NotStrictJson("it has no items, or does not say how it goes on")
    return [complete_object(item, question) for item in items], token
