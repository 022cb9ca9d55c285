"""Freezes and pins of names and owners, and their weekly windows, in the API."""

from typing import Any

import pytest

from registry_app.models import AuditEntry, Freeze
from tests.factories import make_administrator, make_owner, make_provider
from tests.registry_app.api.client import API, make_client, read

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
WINDOW = {
    "in_force": "inside",
    "weekdays": ["fri"],
    "start": "16:00",
    "minutes": 64 * 60,
    "time_zone": "Europe/Berlin",
}
# A Tuesday.
START = "2998-01-02T00:00:00Z"


def _store(**values: Any) -> Any:
    client = make_client(make_administrator())
    return client.post(f"{API}/freezes/", {"reason": "Change stop.", **values})


def test_a_pin_of_names_of_an_owner_is_shown_as_it_was_stored() -> None:
    make_provider("blue-zone")
    make_owner("blue-cluster")

    stored = _store(
        kind="pin",
        provider="blue-zone",
        owner="blue-cluster",
        names=["WWW.example.org.", "www.example.org"],
        name_suffixes=[".shop.example.org"],
    )

    shown = read(stored)
    assert stored.status_code == 201
    assert (shown["kind"], shown["provider"]["name"], shown["owner"]) == ("pin", "blue-zone", "blue-cluster")
    assert (shown["names"], shown["name_suffixes"]) == (["www.example.org"], [".shop.example.org"])
    assert (shown["window"], shown["state"], shown["next_change_at"]) == (None, "active", None)
    assert AuditEntry.objects.get(action="freeze.started").after == {
        "kind": "pin",
        "provider": "blue-zone",
        "owner": "blue-cluster",
        "names": ["www.example.org"],
        "name_suffixes": [".shop.example.org"],
        "starts_at": Freeze.objects.get().starts_at.isoformat(),
        "ends_at": None,
    }


def test_without_more_it_is_a_freeze_of_everything_as_ever() -> None:
    shown = read(_store())

    assert (shown["kind"], shown["provider"], shown["owner"], shown["names"]) == ("freeze", None, None, [])


def test_a_window_is_shown_with_the_next_change() -> None:
    client = make_client(make_administrator())
    body = {"reason": "Weekend.", "starts_at": START}

    shown = read(client.post(f"{API}/freezes/", {**body, "window": WINDOW}))
    outside = read(client.post(f"{API}/freezes/", {**body, "window": {**WINDOW, "in_force": "outside"}}))

    assert shown["window"] == WINDOW
    assert (shown["state"], shown["next_change_at"]) == ("planned", "2998-01-05T15:00:00Z")
    assert outside["next_change_at"] == START


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"names": ["-.example..org"]}, "names"),
        ({"name_suffixes": ["."]}, "name_suffixes"),
        ({"owner": "nobody"}, "owner"),
        ({"kind": "stop"}, "kind"),
        ({"window": {**WINDOW, "weekdays": []}}, "window.weekdays"),
        ({"window": {**WINDOW, "weekdays": ["today"]}}, "window.weekdays.0"),
        ({"window": {**WINDOW, "start": "24:00"}}, "window.start"),
        ({"window": {**WINDOW, "minutes": 0}}, "window.minutes"),
        ({"window": {**WINDOW, "time_zone": "Berlin"}}, "window.time_zone"),
        ({"window": {**WINDOW, "time_zone": "../../etc/passwd"}}, "window.time_zone"),
        ({"window": {**WINDOW, "colour": "red"}}, "window.colour"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(values: dict[str, Any], field: str) -> None:
    refused = _store(**values)

    assert refused.status_code == 422
    assert list(read(refused)["fields"]) == [field]
    assert not Freeze.objects.exists()
