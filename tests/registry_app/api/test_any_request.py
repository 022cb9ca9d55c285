"""Whatever a program sends that the document allows, or nearly allows, is answered as the document says."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from registry_app.actor import SYSTEM
from registry_app.models import Loop, Provider, RegistryProfile
from registry_app.reconcile.sync import sync_provider
from tests.depth import REQUESTS
from tests.factories import make_administrator, make_cluster, make_finding, make_owner, make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.api.client import make_client
from tests.registry_app.api.documented import document

pytestmark = [pytest.mark.django_db, pytest.mark.random, pytest.mark.deep]

_UUID = "00000000-0000-0000-0000-000000000000"
# Texts that mean something to one of the programs they pass through.
_TEXTS = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                " ",
                "blue-cluster",
                "green-cluster",
                "www.example.org",
                "WWW.Example.ORG.",
                "*.example.org",
            ),
            *(
                "straße.de",
                "\u200d",
                "a" * 300,
                "..",
                "'; --",
                "{{7*7}}",
                "=1+1",
                "%00",
                "\ufffd",
                "transfer",
            ),
            *("none", "env:HOME", "file:/etc/passwd", "http://127.0.0.1:1", "http://169.254.169.254/", "-1"),
        ]
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)
_ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), _TEXTS
)


# Parts run side by side where there are several processors.
_PARTS = 6


def _operations() -> list[tuple[str, str]]:
    return sorted(
        (method, path)
        for path, methods in document()["paths"].items()
        for method in methods
        if not path.endswith(("/schema/", "/connection-tests/", "/plan/"))  # those ask other hosts
    )


@pytest.mark.parametrize("part", range(_PARTS))
def test_it_is_answered_as_the_document_says(part: int) -> None:
    make_world()
    for method, path in _operations()[part::_PARTS]:
        # A person of its own: no operation uses up the requests of another.
        client = make_client(make_administrator(f"{method} {path}"))
        with transaction.atomic():
            _check_operation(client, method, path)
            transaction.set_rollback(True)


def _check_operation(client: APIClient, method: str, path: str) -> None:
    operation = document()["paths"][path][method]

    @settings(
        max_examples=REQUESTS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(st.data())
    def check(data: st.DataObject) -> None:
        address = data.draw(_addresses(path))
        query = data.draw(_queries(operation))
        body = data.draw(_bodies(operation))
        headers = {"If-Match": client.get(address).headers.get("ETag", "*")} if method == "patch" else {}

        answer = client.generic(
            method.upper(),
            address,
            body,
            content_type="application/json",
            QUERY_STRING=query,
            headers=headers,
        )

        assert answer.status_code < 500, (method, address, query, body, answer.content)

    check()


def make_world() -> None:
    """One of most things, with a mirror that is true."""
    with ReferenceProvider(make_zone("blue-cluster", 6)) as reference:
        provider = make_provider(url=reference.url, pk=1)
        make_owner("blue-cluster", pk=1, cluster=make_cluster(pk=1))
        green = make_owner("green-cluster", pk=2)
        RegistryProfile.objects.create(pk=1, name="plain")
        Loop.objects.create(pk=1, owner=green, provider=provider)
        make_finding(pk=1, provider=provider)
        sync_provider(provider.pk, actor=SYSTEM, trigger="person")
    # Nobody listens there any more: what fuzzing asks for must not wait for anybody.
    Provider.objects.update(deadline_seconds=1)


def _addresses(path: str) -> st.SearchStrategy[str]:
    number = st.sampled_from(["1", "1", "1", "2", "4711", "9" * 30])
    return number.map(
        lambda pk: re.sub(r"\{(\w+)\}", lambda found: _UUID if found[1] == "public_id" else pk, path)
    )


@st.composite
def _queries(draw: st.DrawFn, operation: dict[str, Any]) -> str:
    known = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    chosen = [each for each in known if draw(st.integers(0, 2)) == 0]
    return urlencode([(each["name"], str(draw(_values(each["schema"])))) for each in chosen])


@st.composite
def _bodies(draw: st.DrawFn, operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return ""
    value = draw(st.one_of(_values(content["schema"]), _values(content["schema"]), _ODD))
    return json.dumps(value)


def _values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly what a schema allows, now and then something else."""
    return st.one_of(_fitting(schema), _fitting(schema), _fitting(schema), _fitting(schema), _ODD)


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _fitting(document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return st.one_of(*(_fitting(each) for each in schema[several]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        return st.one_of(*(_fitting({**schema, "type": each}) for each in kind))
    if kind == "object":
        return _objects(schema)
    if kind == "array":
        return st.lists(_values(schema.get("items", {})), max_size=3)
    if kind == "integer":
        return st.one_of(
            st.integers(schema.get("minimum", -(2**63)), schema.get("maximum", 2**63)), st.just(1)
        )
    return _SIMPLE.get(schema.get("format", kind), _TEXTS)


_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.just(_UUID),
    "date-time": st.one_of(st.datetimes().map(str), st.just("0001-01-01T00:00:00+14:00"), _TEXTS),
}


@st.composite
def _objects(draw: st.DrawFn, schema: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    built = {
        name: draw(_values(each))
        for name, each in properties.items()
        if not each.get("readOnly") and draw(st.integers(0, 9)) < (9 if name in required else 5)
    }
    if isinstance(schema.get("additionalProperties"), dict):
        built[draw(_TEXTS)] = draw(_values(schema["additionalProperties"]))
    return built
