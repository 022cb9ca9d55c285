"""Exports: every list as a file, the same rows as on its pages, read while they are sent."""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern
from rest_framework.test import APIClient

from providers.wire.canonical_name import reversed_name
from registry_app.api.urls import urlpatterns
from registry_app.models import AuditEntry, Finding, HandOver, Loop, Owner, Provider, RecordSet, Transfer
from tests.factories import (
    make_administrator,
    make_finding,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.registry_app.admin.world import make_one_of_each
from tests.registry_app.api.client import API, items, make_client, make_token, read

pytestmark = pytest.mark.django_db

_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def client() -> APIClient:
    return make_client(make_user("alice"), "read")


def _list_exports() -> list[str]:
    """The lists that have an export: `/record-sets/` and so on."""
    found = [str(each.pattern) for each in urlpatterns if isinstance(each, URLPattern)]
    return [f"/{place.removesuffix('export/')}" for place in found if place.endswith("/export/")]


_NESTED = {
    "/record-sets/<int:pk>/events/",
    "/transfers/<transfer:public_id>/items/",
    "/transfers/<transfer:public_id>/steps/",
    "/hand-overs/<transfer:public_id>/items/",
    "/loops/<int:pk>/endpoints/",
}


def _list_lists() -> set[str]:
    found = [str(each.pattern) for each in urlpatterns if isinstance(each, URLPattern)]
    return {f"/{place}" for place in found if place.count("/") == 1} - {"/schema/", "/docs/"} | _NESTED


def _export(client: APIClient, address: str) -> list[dict[str, Any]]:
    """The rows of an NDJSON export, which is whole."""
    response = client.get(f"{API}{address}")
    assert response.status_code == 200, response.content
    *rows, closing = [json.loads(line) for line in response.content.splitlines()]
    assert closing == {"closing": True, "rows": len(rows)}
    return rows


def _is_no_export(row: dict[str, Any]) -> bool:
    return row.get("action") != "export.made"


def _export_csv(client: APIClient, address: str) -> list[dict[str, str]]:
    """The rows of a CSV export, which is whole."""
    response = client.get(f"{API}{address}")
    assert response.status_code == 200, response.content
    *rows, closing = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
    assert list(closing.values())[:2] == ["closing", str(len(rows))]
    assert not any(list(closing.values())[2:])
    return rows


def test_every_list_has_an_export_with_the_rows_of_its_pages() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = make_client(root)

    assert set(_list_exports()) == _list_lists()
    ids: dict[str, dict[str, Any]] = {
        "<int:pk>": {"record-sets": RecordSet.objects.get().pk, "loops": Loop.objects.get().pk},
        "<transfer:public_id>": {
            "transfers": Transfer.objects.get().public_id,
            "hand-overs": HandOver.objects.get().public_id,
        },
    }
    for route in _list_exports():
        noun = route.split("/")[1]
        place = route
        for part, of_nouns in ids.items():
            place = place.replace(part, str(of_nouns.get(noun)))
        exported = _export(client, f"{place}export/")
        tabled = _export_csv(client, f"{place}export/?format=csv")
        shown = items(client, f"{place}?limit=1000")

        assert list(filter(_is_no_export, exported)) == list(filter(_is_no_export, shown)), place
        # The audit trail has an entry more after each.
        assert len(tabled) == len(exported) + (place == "/audit-entries/"), place
        assert exported, place


def test_a_record_set_is_the_same_in_the_list_and_in_the_export(client: APIClient) -> None:
    blue, seen = make_owner("blue-cluster"), make_owner("b1ue-cluster", status=Owner.Status.DISCOVERED)
    zone, other = make_provider("blue-zone"), make_provider("zone 2")
    make_record_set(zone, "a.example.org", owner=blue, first_seen_at=_AT, resource='ingress/"shop"/ä')
    make_record_set(other, "a.example.org", owner=seen, missing_since=_AT.replace(microsecond=120_000))
    make_record_set(
        zone,
        "b.example.org",
        record_type="TXT",
        set_identifier="weiß\n",
        targets=['"a\\"b"', "ä\u2028"],
        ttl=300,
        provider_specific=[{"name": "aws/weight", "value": "10"}],
    )

    assert _export(client, "/record-sets/export/") == items(client, "/record-sets/")
    assert [
        row["owner_looks_like"] for row in _export(client, "/record-sets/export/?owner=b1ue-cluster")
    ] == ["blue-cluster"]


def test_filters_and_order_are_those_of_the_list(client: APIClient) -> None:
    blue, green = make_owner("blue-cluster"), make_owner("green-cluster")
    zone = make_provider("blue-zone")
    for name in ("b.example.org", "a.example.org", "c.b.example.org", "example.com"):
        make_record_set(zone, name, owner=green if name.startswith("a") else blue)
    make_finding(provider=zone, severity=Finding.Severity.ERROR)
    make_finding(provider=zone, severity=Finding.Severity.WARNING)
    for query in (
        "/record-sets/?owner=blue-cluster",
        "/record-sets/?name_suffix=example.org",
        "/record-sets/?type=AAAA",
        "/record-sets/?provider=blue-zone&state=owned&name=A.example.org.",
        "/findings/?severity=error",
        "/owners/?owner_id=green-cluster",
    ):
        place, _, filters = query.partition("?")

        assert _export(client, f"{place}export/?{filters}") == items(client, query), query


def test_more_rows_than_a_slice_come_once_and_in_order(client: APIClient) -> None:
    _fill(make_provider(), 2_100)

    names = [row["name"] for row in _export(client, "/record-sets/export/")]

    assert len(set(names)) == len(names) == 2_100
    assert names == sorted(names)


@pytest.mark.parametrize("query", ["format=xml", "limit=10", "cursor=x", "colour=blue", "owner=nobody"])
def test_what_an_export_does_not_know_is_refused_and_not_noted(client: APIClient, query: str) -> None:
    response = client.get(f"{API}/record-sets/export/?{query}")

    assert response.status_code == 400
    assert query.partition("=")[0] in read(response)["fields"]
    assert not AuditEntry.objects.filter(action="export.made").exists()


def test_an_export_has_a_file_name_and_says_what_it_is(client: APIClient) -> None:
    response = client.get(f"{API}/record-sets/export/?format=csv", headers={"Accept": "text/csv"})

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="record-sets-2')
    assert response.headers["Content-Disposition"].endswith('Z.csv"')
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"]


HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", '=HYPERLINK("http://x")')


def test_no_text_in_a_csv_is_a_formula(client: APIClient) -> None:
    zone = make_provider("=cmd|'/C calc'!A0")
    for number, text in enumerate(HOSTILE):
        make_record_set(zone, f"{number}.example.org", set_identifier=text, resource=text, targets=[text])
    make_finding(provider=zone, explanation=HOSTILE[0], details={"=1": "=1"})

    rows = _export_csv(client, "/record-sets/export/?format=csv")
    findings = _export_csv(client, "/findings/export/?format=csv")

    assert [row["resource"] for row in rows] == [f"'{text}" for text in HOSTILE]
    cells = [cell for row in rows + findings for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n\uff1d"))]
    assert [json.loads(row["targets"]) for row in rows] == [[text] for text in HOSTILE]


def test_a_csv_keeps_everything_else_as_it_is(client: APIClient) -> None:
    text = 'a,"b"; c\r\nd ä \u202e=1'
    make_record_set(make_provider(), resource=text, missing_since=None, ttl=0)

    (row,) = _export_csv(client, "/record-sets/export/?format=csv")

    assert row["resource"] == text
    assert (row["provider.name"], row["ttl"], row["missing_since"]) == ("blue-zone", "0", "")


def test_an_export_is_in_the_audit_trail_once_with_who_what_and_how(client: APIClient) -> None:
    make_owner("blue-cluster")

    _export_csv(client, "/record-sets/export/?format=csv&owner=blue-cluster")

    (entry,) = AuditEntry.objects.filter(action="export.made")
    assert entry.actor_name == "alice (deploy)"
    assert (entry.object_type, entry.object_label) == ("recordset", "record sets")
    assert entry.after == {"list": "record-sets", "format": "csv", "filters": {"owner": "blue-cluster"}}


def test_nobody_exports_without_the_right_to_read() -> None:
    plans = make_client(make_user("bob"), "plan")

    assert APIClient().get(f"{API}/record-sets/export/").status_code == 401
    assert plans.get(f"{API}/record-sets/export/").status_code == 403
    assert not AuditEntry.objects.filter(action="export.made").exists()


def test_tokens_of_others_are_in_no_export() -> None:
    alice, bob = make_user("alice"), make_user("bob")
    make_token(bob)

    exported = _export(make_client(alice, "read"), "/tokens/export/")

    assert [row["user"] for row in exported] == ["alice"]


def test_the_headers_alone_are_no_export(client: APIClient) -> None:
    response = client.head(f"{API}/record-sets/export/")

    assert (response.status_code, response.content) == (200, b"")
    assert not AuditEntry.objects.filter(action="export.made").exists()


def test_a_reader_who_leaves_ends_the_reading() -> None:
    _fill(make_provider(), 2_100)
    response: Any = _straight(make_user("alice")).get(f"{API}/record-sets/export/")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        pieces: Iterator[bytes] = iter(response)

        next(pieces)
        response.close()

        assert len([each for each in queries if "recordset" in each["sql"]]) == 1
        assert list(pieces) == []


def test_an_export_that_fails_on_the_way_has_no_closing_line() -> None:
    zone = make_provider()
    _fill(zone, 2_100)
    last = RecordSet.objects.order_by("-name")[0]
    response: Any = _straight(make_user("alice")).get(f"{API}/record-sets/export/")
    pieces: Iterator[bytes] = iter(response)

    begun = next(pieces)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE registry_app_recordset RENAME COLUMN resource TO elsewhere")
    with pytest.raises(Exception, match="resource"):
        list(pieces)

    assert last.name.encode() not in begun
    assert b"closing" not in begun


def test_memory_does_not_grow_with_the_rows() -> None:
    client = _straight(make_user("alice"))
    zone = make_provider()
    _fill(zone, 2_000)
    small = _peak_of_export(client)
    _fill(zone, 5_000, first=2_000)

    large = _peak_of_export(client)

    assert large < 1.3 * small + 1_000_000, (small, large)


def _peak_of_export(client: APIClient) -> int:
    tracemalloc.start()
    try:
        response: Any = client.get(f"{API}/record-sets/export/")
        assert sum(len(piece) for piece in response) > 100_000
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _straight(user: User) -> APIClient:
    """A client that reads nothing of a stream by itself."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {make_token(user, 'read')[1]}")
    return client


def _fill(provider: Provider, count: int, *, first: int = 0) -> None:
    names = [f"app-{number:06d}.example.org" for number in range(first, first + count)]
    RecordSet.objects.bulk_create(
        RecordSet(
            provider=provider,
            name=name,
            name_reversed=reversed_name(name),
            record_type="A",
            targets=["192.0.2.1"],
            state="unmanaged",
            digest=b"",
            first_seen_at=_AT,
            changed_at=_AT,
        )
        for name in names
    )
