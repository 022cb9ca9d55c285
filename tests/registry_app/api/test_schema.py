"""The OpenAPI document: committed, without a warning, and shown by a viewer that asks no other host."""

import re
from pathlib import Path

import pytest
import yaml
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

from tests.registry_app.api.client import API

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.yaml"


def _generate() -> bytes:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    rendered: bytes = OpenApiYamlRenderer().render(schema, renderer_context={})  # type: ignore[no-untyped-call]  # as above
    return rendered


def test_it_is_generated_without_a_warning() -> None:
    GENERATOR_STATS.reset()

    with GENERATOR_STATS.silence():
        _generate()

    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_the_committed_document_has_not_drifted() -> None:
    assert COMMITTED.read_bytes() == _generate(), (
        "Run `python manage.py spectacular --file docs/openapi.yaml` and look at the difference."
    )


def test_it_is_valid_openapi_3_1() -> None:
    document = yaml.safe_load(_generate())

    validate_schema(document)  # type: ignore[no-untyped-call]  # untyped there

    assert document["openapi"].startswith("3.1")


def test_every_operation_tells_what_it_does_and_how_it_fails() -> None:
    document = yaml.safe_load(_generate())

    operations = {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        if not path.endswith("/schema/")
        for method, operation in methods.items()
    }

    assert len(operations) > 45
    assert [name for name, operation in operations.items() if not operation.get("description")] == []
    assert [name for name, operation in operations.items() if "default" not in operation["responses"]] == []


def test_no_answer_has_a_field_for_a_secret() -> None:
    components = yaml.safe_load(_generate())["components"]["schemas"]

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

    assert shown == set()


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
