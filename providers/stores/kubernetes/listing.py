"""A list of objects that comes in pages: each page checked, and all of them together bounded."""

from collections.abc import Callable
from typing import Final

from providers.http.bounded_http import Limits
from providers.http.errors import AnswerTooLarge, MalformedAnswer
from providers.registries.kubernetes_object import JsonValue, KubernetesObject, read_metadata, read_object
from providers.stores.kubernetes.json_values import decode_object
from providers.stores.kubernetes.question import Question
from providers.wire.strict_json import NotStrictJson

# All pages of a list together: so many times what one answer may hold.
BODIES_PER_LIST: Final = 4
PARTIAL_LIST: Final = "PartialObjectMetadataList"


def read_list(
    origin: str, question: Question, limits: Limits, fetch_page: Callable[[str], bytes], *, is_partial: bool
) -> list[KubernetesObject]:
    """The objects of a list. `fetch_page` takes the token of a page, empty for the first.

    `is_partial`: the metadata of the objects is enough, whether an API sends more or not. Raises
    MalformedAnswer and AnswerTooLarge.
    """
    objects: dict[str, KubernetesObject] = {}
    tokens = {""}
    bytes_left = BODIES_PER_LIST * limits.max_body_bytes
    token = ""
    while True:
        page = fetch_page(token)
        bytes_left -= len(page)
        if bytes_left < 0:
            raise _too_large(origin, question, "takes more bytes than allowed in all")
        try:
            token = _read_page(page, question, objects, is_partial=is_partial)
            if token in tokens and token:
                raise NotStrictJson("it does not say how it goes on")
        except NotStrictJson as error:
            raise MalformedAnswer(
                f"The Kubernetes API at {origin} sent a list of {question.plural} that cannot be "
                f"used: {error}.",
                hint="Check the address: it must be the API itself. Nothing of the response was used.",
            ) from None
        if len(objects) > limits.max_items:
            raise _too_large(origin, question, f"has more than {limits.max_items} objects")
        if not token:
            return list(objects.values())
        tokens.add(token)


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


def _read_page(
    body: bytes, question: Question, objects: dict[str, KubernetesObject], *, is_partial: bool
) -> str:
    """Add the objects of a page; the token that asks for the next one, empty after the last."""
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


def _too_large(origin: str, question: Question, reason: str) -> AnswerTooLarge:
    return AnswerTooLarge(
        f"The list of {question.plural} in namespace {question.namespace} of the Kubernetes API at {origin} "
        f"{reason}; it was not used.",
        hint="Keep the registry in a namespace of its own, or raise the limits of the provider.",
    )
