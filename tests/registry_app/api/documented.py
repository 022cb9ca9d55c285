"""Whether a response is what the OpenAPI document says of it."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.utils.dateparse import parse_datetime
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]  # no types there

_PREFIX = "/api/v1"
_FORMATS = FormatChecker(("uuid",))


class NotDocumented(AssertionError):
    """An answer that the document does not allow."""


def raise_if_not_documented(method: str, path: str, status: int, content_type: str, content: bytes) -> None:
    """Raise NotDocumented where the document describes another response.

    An address that is in no document, such as that of the document itself, passes.
    """
    operation = _find_operation(method.lower(), path)
    if operation is None:
        return
    responses: Mapping[str, Any] = operation["responses"]
    what = f"{method.upper()} {path} {status}"
    if status < 300 and str(status) not in responses:
        raise NotDocumented(f"{what}: the document has no such status, only {sorted(responses)}")
    documented = _resolve(responses.get(str(status), responses["default"])).get("content")
    if documented is None:
        if content:
            raise NotDocumented(f"{what}: a body where none is documented: {content[:200]!r}")
        return
    media_type = content_type.partition(";")[0]
    if media_type not in documented:
        raise NotDocumented(f"{what}: {content_type}, not one of {sorted(documented)}")
    if method.upper() == "HEAD":
        return
    is_json = media_type.endswith("json") and not media_type.endswith("x-ndjson")
    instance = json.loads(content) if is_json else content.decode()
    errors = list(_validator(documented[media_type]["schema"]).iter_errors(instance))
    if errors:
        reported = "; ".join(f"{error.json_path}: {error.message[:300]}" for error in errors[:5])
        raise NotDocumented(f"{what}: {reported}")


@cache
def document() -> dict[str, Any]:
    """The document as the product makes it; another test compares the committed one with it."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    plain: dict[str, Any] = json.loads(json.dumps(schema, default=str))
    return plain


def _resolve(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response itself, where the operation only refers to it."""
    if "$ref" not in response:
        return response
    component: Mapping[str, Any] = document()["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    return component


def _find_operation(method: str, path: str) -> dict[str, Any] | None:
    if method == "head":
        method = "get"
    for pattern, methods in _list_paths():
        if method in methods and pattern.fullmatch(path):
            found: dict[str, Any] = methods[method]
            return found
    return None


@cache
def _list_paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    return [
        (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))), methods)
        # `owners/export/` before `owners/{id}/`, as the addresses are looked up.
        for template, methods in sorted(document()["paths"].items(), key=lambda each: each[0].count("{"))
        if not template.endswith("/schema/")
    ]


def _validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    components = _closed_components()
    return Draft202012Validator({**schema, "components": {"schemas": components}}, format_checker=_FORMATS)


@_FORMATS.checks("date-time")
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or parse_datetime(value) is not None


@cache
def _closed_components() -> dict[str, Any]:
    """A field that the document does not name is as wrong as one that is missing."""
    closed: dict[str, Any] = {}
    for name, component in document()["components"]["schemas"].items():
        is_object = component.get("type") == "object" and "properties" in component
        closed[name] = {**component, "additionalProperties": False} if is_object else component
    return closed
