"""A list of objects that comes in pages: each page checked, and all of them together bounded."""

from typing import Final

from providers.http.bounded_http import Limits
from providers.http.errors import AnswerTooLarge, MalformedAnswer
from providers.registries.kubernetes_object import (
    JsonValue,
    KubernetesObject,
    read_metadata,
    read_object,
)
from providers.stores.kubernetes.json_values import decode_object
from providers.stores.kubernetes.refusals import Resource
from providers.wire.strict_json import NotStrictJson

# All pages of a list together: so many times what one answer may hold.
BODIES_PER_LIST: Final = 4
PARTIAL_LIST: Final = "PartialObjectMetadataList"


class Listing:
    """The objects of one list, page after page. Raises MalformedAnswer and AnswerTooLarge.

    `is_partial`: the metadata of the objects is enough, whether an API sends more or not.
    """

    def __init__(
        self, origin: str, resource: Resource, namespace: str, limits: Limits, *, is_partial: bool = False
    ) -> None:
        self.objects: list[KubernetesObject] = []
        self._origin = origin
        self._resource = resource
        self._namespace = namespace
        self._is_partial = is_partial
        self._max_items = limits.max_items
        self._bytes_left = BODIES_PER_LIST * limits.max_body_bytes
        self._names: set[str] = set()
        self._tokens: set[str] = set()

    def add_page(self, body: bytes) -> str:
        """Take one page; the token that asks for the next one, empty after the last."""
        self._bytes_left -= len(body)
        if self._bytes_left < 0:
            raise self._too_large("takes more bytes than allowed in all")
        try:
            page = decode_object(body)
        except NotStrictJson as error:
            raise self._malformed(str(error)) from None
        kind, items = page.get("kind"), page.get("items")
        if kind != f"{self._resource.kind}List" and not (self._is_partial and kind == PARTIAL_LIST):
            raise self._malformed("it is a list of something else, or no list")
        if not isinstance(items, list):
            raise self._malformed("it has no items")
        if len(self.objects) + len(items) > self._max_items:
            raise self._too_large(f"has more than {self._max_items} objects")
        self.objects += [self._read_item(item) for item in items]
        return self._read_token(page)

    def _read_item(self, item: JsonValue) -> KubernetesObject:
        if self._is_partial and isinstance(item, dict):
            item = {"metadata": item.get("metadata")}
        obj = complete_object(item, self._resource, self._namespace)
        if obj is None:
            raise self._malformed("an item of it is no such object, or has no metadata")
        name = read_metadata(obj, "name")
        if name in self._names:
            raise self._malformed("an object is in it twice")
        self._names.add(name)
        return obj

    def _read_token(self, page: dict[str, JsonValue]) -> str:
        token = read_object(page, "metadata").get("continue", "")
        if not isinstance(token, str) or (token and token in self._tokens):
            raise self._malformed("it does not say how it goes on")
        self._tokens.add(token)
        return token

    def _malformed(self, reason: str) -> MalformedAnswer:
        return MalformedAnswer(
            f"The Kubernetes API at {self._origin} sent a list of {self._resource.plural} that cannot be "
            f"used: {reason}.",
            hint="Check the address: it must be the API itself. Nothing of the answer was used.",
        )

    def _too_large(self, reason: str) -> AnswerTooLarge:
        return AnswerTooLarge(
            f"The list of {self._resource.plural} in namespace {self._namespace} of the Kubernetes API at "
            f"{self._origin} {reason}; it was not used.",
            hint="Keep the registry in a namespace of its own, or raise the limits of the provider.",
        )


def complete_object(item: JsonValue, resource: Resource, namespace: str) -> KubernetesObject | None:
    """An object of that kind as it can be written back; None for what is none.

    Lists of the core group leave kind and version out of their items, which a write must have.
    """
    if not isinstance(item, dict):
        return None
    obj: KubernetesObject = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
    is_meant = (obj["apiVersion"], obj["kind"]) == (resource.api_version, resource.kind)
    has_place = read_metadata(obj, "namespace") == namespace
    has_identity = read_metadata(obj, "name") and read_metadata(obj, "resourceVersion")
    return obj if is_meant and has_place and has_identity else None
