"""One address registered under two names: whoever does it is warned, and a finding tells of it."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from registry_app import tasks
from registry_app.actor import SYSTEM
from registry_app.inventory.provider import change_provider, delete_provider, register_provider
from registry_app.models import Finding, Provider
from tests.factories import make_administrator, make_provider
from tests.registry_app.admin.test_config_forms import PROVIDER_FORM
from tests.registry_app.admin.world import address, read_text, sign_in
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.reconcile.serving import serve

pytestmark = pytest.mark.django_db

URL = "http://dns.example.org/webhook"


def _register(name: str, url: str = URL, **values: Any) -> Provider:
    return register_provider(SYSTEM, {"name": name, "url": url, **values})


def _list_findings() -> list[str]:
    found = Finding.objects.filter(kind="duplicate_provider").exclude(state="resolved").order_by("pk")
    return [row.provider.name for row in found if row.provider]


def test_every_spelling_of_one_address_is_a_finding_and_no_other_address() -> None:
    same = [
        "HTTP://DNS.Example.org/webhook",
        "http://dns.example.org:80/webhook/",
        "http://dns.example.org./webhook?token=abcdefgh",
        "http://alice:secret@dns.example.org//webhook/./",
    ]
    others = [
        "https://dns.example.org/webhook",
        "http://dns.example.org:8080/webhook",
        "http://dns.example.org/Webhook",
        "http://dns.example.org/",
        "http://2.dns.example.org/webhook",
    ]
    _register("first")

    for number, url in enumerate(same):
        _register(f"same-{number}", url)
    for number, url in enumerate(others):
        _register(f"other-{number}", url)

    assert _list_findings() == [f"same-{number}" for number in range(len(same))]
    last = Finding.objects.get(provider__name="same-3")
    assert "same-3 has the same address as first, same-0, same-1, same-2." in last.explanation
    assert "secret" not in last.explanation


def test_the_finding_stays_until_one_of_them_is_deleted_changed_or_switched_off() -> None:
    first = _register("first")
    ends: list[Callable[[Provider], object]] = [
        lambda row: delete_provider(SYSTEM, row.pk),
        lambda row: change_provider(SYSTEM, row.pk, {"url": "http://elsewhere.example.org"}),
        lambda row: change_provider(SYSTEM, row.pk, {"is_enabled": False}),
    ]

    for number, end in enumerate(ends):
        second = _register(f"second-{number}")
        tasks.sweep()
        before = _list_findings()
        end(second)
        tasks.sweep()
        assert (before, _list_findings()) == ([f"second-{number}"], []), number

    change_provider(SYSTEM, second.pk, {"is_enabled": True})
    again = _list_findings()
    delete_provider(SYSTEM, first.pk)
    assert (again, _list_findings()) == (["second-2"], [])


def test_a_sync_leaves_the_finding_and_a_sweep_finds_what_nobody_registered_here() -> None:
    first, second = make_provider("first", url=URL), make_provider("second", url=URL)

    tasks.sweep()
    found = _list_findings()
    serve(second, [])
    Provider.objects.filter(pk=second.pk).update(url=URL)

    assert (found, _list_findings()) == (["second"], ["second"])
    Provider.objects.filter(pk=first.pk).update(url="http://elsewhere.example.org")
    tasks.sweep()
    assert _list_findings() == []


def test_what_people_acknowledged_stays_so() -> None:
    _register("first")
    _register("second")
    Finding.objects.update(state=Finding.State.ACKNOWLEDGED)

    tasks.sweep()
    _register("unrelated", "http://elsewhere.example.org")

    assert Finding.objects.get().state == Finding.State.ACKNOWLEDGED


def test_the_api_warns_in_its_answer() -> None:
    client: APIClient = make_client(make_administrator())
    sent = {"approval_policy": "none"}

    first = client.post(f"{API}/providers/", {"name": "first", "url": URL, **sent})
    second = client.post(f"{API}/providers/", {"name": "second", "url": f"{URL}/", **sent})
    at = f"{API}/providers/{read(second)['id']}/"
    moved = client.patch(at, {"url": "http://dns.example.org/"}, headers={"If-Match": second["ETag"]})
    renamed = client.patch(at, {"name": "third"}, headers={"If-Match": moved["ETag"]})
    back = client.patch(at, {"url": URL}, headers={"If-Match": renamed["ETag"]})
    off = client.patch(at, {"is_enabled": False}, headers={"If-Match": back["ETag"]})
    on = client.patch(at, {"is_enabled": True}, headers={"If-Match": off["ETag"]})

    warnings = [read(answer)["warnings"] for answer in (first, second, moved, renamed, back, off, on)]
    assert [len(each) for each in warnings] == [0, 1, 0, 0, 1, 0, 1]
    assert warnings[1][0].startswith("second has the same address as first.")
    assert "warnings" not in read(client.get(at))


def test_a_dry_run_warns_and_keeps_nothing() -> None:
    client: APIClient = make_client(make_administrator())
    _register("first")

    tried = client.post(f"{API}/providers/?dry_run=true", {"name": "second", "url": URL})

    assert (tried.status_code, len(read(tried)["warnings"])) == (200, 1)
    assert _list_findings() == []


def test_the_web_admin_warns_after_saving() -> None:
    client = sign_in(make_administrator())
    _register("first", "http://127.0.0.1:8888")

    registered = client.post(address("provider_register"), PROVIDER_FORM, follow=True)
    row = Provider.objects.get(name="blue-zone")
    form = {**PROVIDER_FORM, "name": "green-zone", "url": row.url, "secret": ""}
    renamed = client.post(address("provider_edit", row.pk), form, follow=True)

    assert "blue-zone has the same address as first." in read_text(registered)
    assert "Registered." in read_text(registered)
    page = read_text(renamed)
    messages = page[: page.index("<h1")]
    assert "Saved." in page
    assert "has the same address as" not in messages


def test_a_stricter_provider_is_found_under_every_spelling() -> None:
    client: APIClient = make_client(make_administrator())
    _register("first")
    gone = _register("gone", "http://gone.example.org/webhook")
    delete_provider(SYSTEM, gone.pk)

    for url in ("http://dns.example.org./webhook", "http://gone.example.org//webhook/", f"{URL}//."):
        body = {"name": "second", "url": url, "approval_policy": "none"}
        refused = client.post(f"{API}/providers/", body)
        assert (refused.status_code, read(refused)["code"]) == (409, "looser_than_namesake"), url
