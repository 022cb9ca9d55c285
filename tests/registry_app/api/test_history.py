"""What a provider had at a moment, and what differs between two, in the API."""

from datetime import timedelta
from urllib.parse import quote

import pytest

from registry_app.clock import fetch_now
from tests.factories import make_provider, make_user
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.api.client import items, make_client
from tests.registry_app.reconcile.changing_zone import show
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db


def test_a_moment_and_what_differs_since_are_paged_by_name() -> None:
    zone = make_zone("blue-cluster", 10)
    with ReferenceProvider(zone) as reference:
        provider = make_provider("zone", url=reference.url)
        sync(provider)
        before = quote(fetch_now().isoformat())
        www = make_record("www.example.org"), make_record("www.example.org", "AAAA", ("2001:db8::1",))
        show(reference, [*zone[2:], *www, make_claim("www.example.org", owner="green-cluster")])
        sync(provider)
    client = make_client(make_user("alice"))
    history = "/providers/zone/history"

    then = items(client, f"{history}/record-sets/?at={before}")
    first = client.get(f"/api/v1{history}/record-sets/?at={before}&limit=4").json()
    rest = client.get(
        f"/api/v1{history}/record-sets/?at={before}&limit=50&cursor={first['next_cursor']}"
    ).json()
    changes = items(client, f"{history}/differences/?since={before}")
    one = client.get(f"/api/v1{history}/differences/?since={before}&limit=1").json()

    assert [row["name"] for row in then] == [f"app-{number:05d}.example.org" for number in range(10)]
    assert [*first["items"], *rest["items"]] == then
    assert (len(first["items"]), rest["next"]) == (4, None)
    assert [(row["name"], row["record_type"], row["before"] is None, row["writers"]) for row in changes] == [
        ("app-00000.example.org", "A", False, ["blue-cluster"]),
        ("www.example.org", "A", True, ["green-cluster"]),
        ("www.example.org", "AAAA", True, []),
    ]
    assert [row["name"] for row in one["items"]] == ["app-00000.example.org"]
    assert len(items(client, f"{history}/differences/?since={before}&owner=green-cluster")) == 1
    assert items(client, f"{history}/differences/?since={before}&type=MX") == []
    assert len(items(client, f"{history}/record-sets/")) == 11


def test_a_moment_that_is_unknown_is_named() -> None:
    provider = make_provider("zone")
    client = make_client(make_user("alice"))
    late = quote((fetch_now() + timedelta(hours=1)).isoformat())
    early = quote((provider.created_at - timedelta(days=1)).isoformat())

    for query, field in ((f"record-sets/?at={late}", "at"), (f"differences/?since={early}", "since")):
        response = client.get(f"/api/v1/providers/zone/history/{query}")
        assert response.status_code == 422
        assert list(response.json()["fields"]) == [field]
    assert client.get("/api/v1/providers/zone/history/record-sets/?at=yesterday").status_code == 400
