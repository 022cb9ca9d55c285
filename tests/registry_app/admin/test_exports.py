"""The Export menu above each list: the rows that the page shows, as the API exports them."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve, reverse

from registry_app.api.schema import known_parameters
from registry_app.models import AuditEntry, Finding, Loop, RecordSet
from tests.factories import (
    make_administrator,
    make_finding,
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_record_set,
)
from tests.registry_app.admin.world import NOUNS, address, make_one_of_each, read_text, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return sign_in(make_administrator())


def _links(client: Client, noun: str, filters: dict[str, str] | None = None) -> list[str]:
    page = read_text(client.get(address(f"{noun}_changelist"), filters or {}))
    return [unescape(each) for each in re.findall(r'href="(/api/v1/[^"]+/export/[^"]*)"', page)]


def _export(client: Client, noun: str, **filters: str) -> list[dict[str, Any]]:
    _csv, ndjson = _links(client, noun, filters)
    response: Any = client.get(ndjson)
    assert response.status_code == 200, (ndjson, response.content)
    *rows, closing = [json.loads(line) for line in b"".join(response).splitlines()]
    assert closing["rows"] == len(rows)
    return rows


def test_every_list_exports_what_it_shows() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = sign_in(root)
    for noun in NOUNS:
        shown = client.get(address(f"{noun}_changelist")).context["cl"].result_count
        loops = Loop.objects.filter(is_enabled=True).count() if noun == "instance" else 0
        new = 1 if noun == "auditentry" else 0

        assert len(_links(client, noun)) == 2, noun
        assert len(_export(client, noun)) == shown + loops + new, noun


def test_every_filter_of_a_page_has_the_same_name_in_the_api(client: Client) -> None:
    for noun in NOUNS:
        specs = client.get(address(f"{noun}_changelist")).context["cl"].filter_specs
        names = {spec.parameter_name for spec in specs}
        for action in ("list", "export"):
            view: Any = resolve(reverse(f"{noun}-{action}")).func

            assert names <= known_parameters(view.cls, action, "GET"), (noun, action)


def test_an_export_has_the_filters_of_its_page(client: Client) -> None:
    blue, green = make_owner("blue-cluster"), make_owner("12")
    zone = make_provider("blue-zone")
    make_record_set(zone, "a.example.org", owner=blue)
    make_record_set(zone, "b.example.org", owner=green)
    make_record_set(zone, "example.com", record_type="TXT")
    gone = make_record_set(zone, "gone.example.com")
    RecordSet.objects.filter(pk=gone.pk).update(missing_since=gone.changed_at)
    for filters, names in (
        ({"name_prefix": "A.ex"}, ["a.example.org"]),
        ({"name_suffix": "example.org"}, ["a.example.org", "b.example.org"]),
        ({"owner": str(blue.pk)}, ["a.example.org"]),
        ({"owner_name": "12"}, ["b.example.org"]),
        ({"type": "TXT", "provider_name": "blue-zone"}, ["example.com"]),
        ({"state": "unmanaged", "missing": "yes"}, ["gone.example.com"]),
        ({"missing": "no", "state": "nonsense"}, ["a.example.org", "b.example.org", "example.com"]),
    ):
        shown = client.get(address("recordset_changelist"), filters).context["cl"].result_list

        assert [row["name"] for row in _export(client, "recordset", **filters)] == names, filters
        assert [row.name for row in shown] == names, filters


def test_what_a_page_leaves_out_by_itself_is_not_exported_either(client: Client) -> None:
    zone = make_provider()
    for state in Finding.State:
        make_finding(provider=zone, state=state, severity=Finding.Severity.ERROR)
    make_finding(provider=zone, severity=Finding.Severity.WARNING)
    guard = make_guard_endpoint(make_instance(make_owner()), zone)
    make_held_delete(guard, "held.example.org")
    make_held_delete(guard, "done.example.org", status="deleted")

    findings = [row["state"] for row in _export(client, "finding", severity="error")]

    assert sorted(findings) == sorted({*Finding.State.values} - {"resolved"})
    assert len(_export(client, "finding", state="all")) == len(Finding.State) + 1
    assert [row["name"] for row in _export(client, "helddelete")] == ["held.example.org"]
    assert len(_export(client, "helddelete", status="all")) == 2


def test_the_api_takes_the_other_filters_of_pages(client: Client) -> None:
    cluster_owner = make_owner("blue-cluster")
    make_instance(cluster_owner, "one")
    make_instance(cluster_owner, "two")
    make_owner("green-cluster")
    _export(client, "owner")
    for noun, filters, count in (
        ("owner", {"owner_id_prefix": "blue"}, 1),
        ("instance", {"owner_id_prefix": "blue"}, 2),
        ("instance", {"owner_id_prefix": "green"}, 0),
        ("transfer", {"transfer": "#12"}, 0),
        ("auditentry", {"action_prefix": "export.", "object": "owner", "through": "user"}, 2),
        ("auditentry", {"object": "provider 3"}, 0),
    ):
        assert len(_export(client, noun, **filters)) == count, (noun, filters)


def test_an_old_link_leads_to_the_list_under_the_new_name(client: Client) -> None:
    for noun, old, new in (
        ("recordset", "below=example.org", "name_suffix=example.org"),
        ("recordset", "name=a&state=owned", "name_prefix=a&state=owned"),
        ("finding", "name=a", "name_prefix=a"),
        ("owner", "id=blue", "owner_id_prefix=blue"),
        ("auditentry", "action=transfer.", "action_prefix=transfer."),
    ):
        response = client.get(f"{address(f'{noun}_changelist')}?{old}")

        assert response.status_code == 302, old
        assert response.headers["Location"].endswith(f"?{new}"), old


def test_a_provider_offers_its_zone_file(client: Client) -> None:
    zone = make_provider()
    make_record_set(zone)
    (link,) = re.findall(
        r'href="(/api/v1/[^"]+/zone-file/)"', read_text(client.get(address("provider_change", zone.pk)))
    )

    response: Any = client.get(link)

    assert b"www.example.org. IN A 192.0.2.1" in b"".join(response)
    assert AuditEntry.objects.get(action="export.made").actor_name == "root"
