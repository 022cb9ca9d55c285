"""`q` finds a text in any place of record sets, owners, transfers and findings, page after page."""

from typing import Any

import pytest
from django.test import Client

from tests.factories import make_finding, make_owner, make_provider, make_record_set, make_user
from tests.registry_app.api.client import make_token

pytestmark = pytest.mark.django_db
_LISTS = ("record-sets", "owners", "transfers", "findings")


@pytest.fixture
def headers() -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(make_user(), 'read')[1]}"}


def _get(client: Client, headers: dict[str, str], path: str, **query: str) -> Any:
    return client.get(f"/api/v1/{path}/", query, headers=headers)


def test_pages_follow_each_other_and_other_filters_narrow(client: Client, headers: dict[str, str]) -> None:
    zone, owner = make_provider(), make_owner("shop")
    for number in range(5):
        make_record_set(zone, f"shop-{number}.example.org", owner=owner if number % 2 else None)
    make_record_set(zone, "other.example.org", owner=owner)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = _get(client, headers, "record-sets", q="HOP-", limit="2", **cursor).json()
        seen += [row["name"] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    owned = _get(client, headers, "record-sets", q="shop", owner="shop", name_suffix="example.org")
    below = _get(client, headers, "record-sets", q="shop-3", name_suffix="example.org").json()["items"]
    exported = b"".join(_get(client, headers, "record-sets/export", q="op-4"))

    assert seen == [f"shop-{number}.example.org" for number in range(5)]
    # The owner id holds it, too.
    assert [row["name"] for row in owned.json()["items"]] == [
        "other.example.org",
        "shop-1.example.org",
        "shop-3.example.org",
    ]
    assert [row["name"] for row in below] == ["shop-3.example.org"]
    assert exported.count(b"\n") == 2


def test_owners_and_findings_are_found(client: Client, headers: dict[str, str]) -> None:
    make_owner("blue-cluster", description="Shop in Ulm")
    make_finding(provider=make_provider(), name="www.example.org", explanation="Two claims of 100%.")

    found = [
        len(_get(client, headers, path, q=text).json()["items"])
        for path, text in (
            ("owners", "in ulm"),
            ("owners", "ulm%"),
            ("findings", "f 100%"),
            ("findings", "w.ex"),
        )
    ]

    assert found == [1, 0, 1, 1]


def test_fewer_than_three_characters_are_refused_by_name(client: Client, headers: dict[str, str]) -> None:
    for path in _LISTS:
        for text, status in (
            ("ab", 400),
            ("", 400),
            ("x" * 256, 400),
            ("\0\0\0", 400),
            ('"a*', 200),
            ("%%%", 200),
        ):
            response = _get(client, headers, path, q=text)

            assert response.status_code == status, (path, text)
            assert status == 200 or list(response.json()["fields"]) == ["q"], (path, text)
    assert _get(client, headers, "record-sets", q="ab").json()["fields"] == {
        "q": ["Give at least 3 characters."]
    }
