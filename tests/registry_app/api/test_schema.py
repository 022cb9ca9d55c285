"""The OpenAPI document: committed, without a warning, and shown by a viewer that asks no other host."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema
from rest_framework.exceptions import ValidationError
from rest_framework.fields import Field, empty

from registry_app.api.request import StrictFields, StrictModelSerializer, StrictSerializer
from tests.registry_app.api.client import API

pytestmark = pytest.mark.one_database

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.yaml"
_REFERENCE = re.compile("#/components/schemas/([A-Za-z]+)")


@cache
def _generate() -> bytes:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    rendered: bytes = OpenApiYamlRenderer().render(schema, renderer_context={})  # type: ignore[no-untyped-call]  # as above
    return rendered


@cache
def _read() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(_generate(), yaml.CSafeLoader)
    return document


def test_it_is_generated_without_a_warning() -> None:
    GENERATOR_STATS.reset()

    with GENERATOR_STATS.silence():
        _generate.__wrapped__()

    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_the_committed_document_has_not_drifted() -> None:
    assert COMMITTED.read_bytes() == _generate(), (
        "Run `python manage.py spectacular --file docs/openapi.yaml` and look at the difference."
    )


@pytest.mark.django_db(transaction=True)
def test_several_may_ask_for_it_at_one_time() -> None:
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: Client().get(f"{API}/schema/"), range(3)))

    assert [answer.status_code for answer in answers] == [200, 200, 200]


@pytest.mark.deep
def test_it_is_valid_openapi_3_1() -> None:
    document = _read()

    validate_schema(document)  # type: ignore[no-untyped-call]  # untyped there

    assert document["openapi"].startswith("3.1")


def test_every_operation_tells_what_it_does_and_how_it_fails() -> None:
    for name, operation in _operations().items():
        statuses = set(operation["responses"])
        ids = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        headers = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "header"}

        assert operation["description"], name
        assert operation["summary"], name
        assert len(operation["summary"]) < 110, name
        assert not operation["summary"].endswith("."), name
        assert {"400", "401", "403", "429", "default"} <= statuses, name
        assert not ids or "404" in statuses, name
        assert name.startswith("GET") or {"409", "415", "422"} <= statuses, name
        assert "If-Match" not in headers or {"412", "428"} <= statuses, name
    assert len(_operations()) > 45


def test_every_write_tells_of_its_dry_run() -> None:
    for name, operation in _operations().items():
        parameters = {parameter["name"]: parameter for parameter in operation["parameters"]}
        if name.startswith("GET"):
            assert "dry_run" not in parameters, name
            continue
        is_refused = "is refused" in parameters["dry_run"]["description"]
        headers = operation["responses"]["200"].get("headers", {})
        assert is_refused != ("X-Dry-Run" in headers), name


def test_every_field_of_an_answer_is_always_there() -> None:
    """What may be absent is named here, one by one."""
    absent = {"Problem": {"fields", "confirmation_text"}}
    components = _read()["components"]["schemas"]

    for name in _reachable("responses", components):
        component = components[name]
        properties = set(component.get("properties", {}))
        assert properties - set(component.get("required", ())) == absent.get(name, set()), name


def test_no_request_declares_a_default_that_is_refused() -> None:
    for shape in _every_subclass(StrictFields):
        for name, field in shape().fields.items():
            if field.default is not empty:
                default = field.default() if callable(field.default) else field.default
                _raise_if_refused(field, default, f"{shape.__name__}.{name}")


def test_every_id_has_one_type() -> None:
    document = _read()
    number = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}
    number_or_none = {**number, "type": ["integer", "null"]}  # an instance that is a loop has none
    unique = {"type": "string", "format": "uuid"}
    # What has another name than its id is found by that, too.
    either = {
        "/transfers/": {"type": "string", "description": "The id, or the number that people see (`12`)."},
        "/hand-overs/": {"type": "string", "description": "The id, or the number that people see (`12`)."},
        "/providers/": {"type": "string", "description": "The id, or the name."},
        "/owners/": {"type": "string", "description": "The number in `id`, or the owner id."},
    }

    for name, operation in _operations().items():
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                named = next((shape for noun, shape in either.items() if noun in name), None)
                wanted = named or (unique if parameter["name"] == "public_id" else number)
                assert parameter["schema"] == wanted, name
    for name, component in document["components"]["schemas"].items():
        reported = component.get("properties", {}).get("id")
        if reported is not None:
            kept = {key: value for key, value in reported.items() if key not in ("readOnly", "description")}
            assert kept in (number, unique, *([number_or_none] if name == "InstanceAnswer" else [])), name


def _raise_if_refused(field: Field[Any, Any, Any, Any], default: Any, name: str) -> None:
    try:
        field.run_validation(default)
    except ValidationError as error:
        raise AssertionError(f"{name} refuses its default {default!r}: {error.detail}") from error


def _operations() -> dict[str, dict[str, Any]]:
    document = _read()
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def _reachable(where: str, components: dict[str, Any]) -> set[str]:
    """The components that this part of the operations refers to, and what those refer to."""
    waiting = set(
        _REFERENCE.findall(json.dumps([each[where] for each in _operations().values()], default=str))
    )
    waiting.add("Problem")  # the responses of all refer to it in a component of their own
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_REFERENCE.findall(json.dumps(components[name], default=str))) - found
    return found


def _every_subclass(shape: type[Any]) -> Iterator[type[Any]]:
    for each in shape.__subclasses__():
        if each not in (StrictSerializer, StrictModelSerializer):
            yield each
        yield from _every_subclass(each)


def test_no_answer_has_a_field_for_a_secret_but_the_one_that_shows_it_once() -> None:
    components = _read()["components"]["schemas"]

    secret_fields = {"secret", "client_key", "encryption_key", "secret_hash", "password"}
    shown = {
        name
        for name, component in components.items()
        if not name.endswith("Request") and secret_fields & set(component.get("properties", {}))
        if not all(
            component["properties"][field].get("writeOnly")
            for field in secret_fields & set(component["properties"])
        )
    }

    assert shown == {"IssuedCredentialAnswer"}


@pytest.mark.django_db
def test_the_viewer_has_no_inline_script_and_asks_no_other_host(client: Client) -> None:
    page = client.get(f"{API}/docs/")

    html = page.content.decode()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert page.status_code == 200
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert scripts
    assert all("src=" in attributes and not text.strip() for attributes, text in scripts)
    assert [address for address in addresses if "//" in address] == []
