"""Guard endpoints in the web admin: what is known of each instance, and its mode and credential."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.inventory.guard_endpoint import verify_credential
from registry_app.models import AuditEntry, DesiredEndpoint, GuardEndpoint
from tests.factories import (
    make_administrator,
    make_desired_set,
    make_guard_endpoint,
    make_instance,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = pytest.mark.django_db

FORM = {
    "slug": "blue",
    "provider": "blue-zone",
    "instance": "east of blue-cluster",
    "mode": "dry_run",
    "networks": "192.0.2.0/24\n2001:db8::/32",
    "deadline_seconds": "15",
    "max_body_bytes": "33554432",
    "refuses_batch": "on",
    "shared_names": "Shared.example.org",
    "delete_percent": "10",
    "most_deletes": "20",
    "window_seconds": "600",
}


def test_a_guard_endpoint_is_registered_shown_changed_and_deleted() -> None:
    client = sign_in(make_administrator())
    make_provider("blue-zone")
    make_instance(make_owner("blue-cluster"), "east")

    registered = read_text(client.post(address("guardendpoint_register"), FORM, follow=True))
    row = GuardEndpoint.objects.get()
    change = {**FORM, "slug": "blue-2", "networks": "", "deadline_seconds": "30"}
    changed = read_text(client.post(address("guardendpoint_edit", row.pk), change, follow=True))
    listed = read_text(client.get(address("guardendpoint_changelist")))
    asked = read_text(client.get(address("guardendpoint_remove", row.pk)))
    removed = read_text(client.post(address("guardendpoint_remove", row.pk), {}, follow=True))

    assert (row.instance.name, row.networks) == ("east", ["192.0.2.0/24", "2001:db8::/32"])
    rules = (row.refuses_batch, row.shared_names, row.delete_percent, row.most_deletes, row.window_seconds)
    assert rules == (True, ["shared.example.org"], 10, 20, 600)
    assert "of more than 10 % of its owner&#x27;s record sets (10 or more), or more than 20" in registered
    assert "It posted nothing yet." in registered
    assert "--webhook-provider-url=http://&lt;host&gt;:8888/blue\n" in registered
    assert "--webhook-provider-read-timeout=5s" in registered
    assert "--webhook-provider-write-timeout=10s" in registered
    assert "--dry-run" in registered
    assert "Saved." in changed
    assert "--webhook-provider-write-timeout=20s" in changed
    assert all(text in listed for text in ("blue-2", "east", "blue-cluster", "Nothing posted yet"))
    assert "its decisions and its held deletes are deleted from dnsadmin" in asked
    assert "an ExternalDNS that still talks to it changes nothing" in asked
    assert "Deleted." in removed
    assert not GuardEndpoint.objects.exists()


def test_what_is_refused_stands_beside_its_field() -> None:
    client = sign_in(make_administrator())
    make_provider("blue-zone")
    make_provider("off", url="http://127.0.0.1:8", is_enabled=False)
    make_instance(make_owner("blue-cluster"), "east")

    for field, value in (
        ("slug", "records"),
        ("provider", "off"),
        ("instance", "west of blue-cluster"),
        ("networks", "everywhere"),
        ("deadline_seconds", "1"),
        ("shared_names", "a..b"),
        ("delete_percent", "0"),
        ("most_deletes", ""),
        ("window_seconds", "59"),
    ):
        refused = client.post(address("guardendpoint_register"), {**FORM, field: value})
        assert refused.status_code == 422, field
        assert list(refused.context["form"].errors) == [field]
    assert not GuardEndpoint.objects.exists()


def test_an_instance_is_searched_by_its_name_and_owner() -> None:
    client = sign_in(make_administrator())
    owner = make_owner("blue-cluster")
    row = make_instance(owner, "east")
    make_instance(owner, "west")

    found = client.get(address("instance_search"), {"q": "east of BLUE"}).json()
    page = read_text(client.get(address("instance_change", row.pk)))
    link = re.search(r'href="([^"]*guardendpoint/register/[^"]*)"', page)
    assert link is not None
    form = read_text(client.get(link[1].replace("&amp;", "&")))

    assert found["names"] == ["east of blue-cluster"]
    assert 'value="east of blue-cluster"' in form


def test_the_list_says_who_has_not_posted_for_three_intervals() -> None:
    client = sign_in(make_user("charlie"))
    owner, provider = make_owner(), make_provider()
    now = timezone.now()
    for slug, age in (("old", 3600), ("new", 10)):
        row = make_guard_endpoint(make_instance(owner, slug), provider, slug=slug)
        make_desired_set(row, "www.example.org", last_seen_at=now - timedelta(seconds=age))

    listed = read_text(client.get(address("guardendpoint_changelist")))
    other = read_text(client.get(address("guardendpoint_changelist"), {"owner_name": "nobody"}))

    assert (listed.count(">Stale<"), listed.count(">Current<")) == (1, 1)
    assert "Register guard endpoint" not in listed
    assert "Nothing matches this filter." in other


def test_the_mode_is_changed_by_a_button_with_a_reason() -> None:
    client = sign_in(make_administrator())
    row = make_guard_endpoint(slug="blue")
    url = address("guardendpoint_mode", row.pk)

    paused = read_text(client.post(url, {"mode": "paused", "reason": "The zone moves."}, follow=True))
    refused = read_text(client.post(url, {"mode": "off"}, follow=True))

    assert "Change to: Dry run" in paused
    assert "--dry-run" not in re.sub(r"<code>--dry-run</code>", "", paused)
    assert "not valid" in refused
    assert GuardEndpoint.objects.get().mode == "paused"
    assert AuditEntry.objects.get().reason == "The zone moves."


def test_a_password_is_shown_once_with_a_warning() -> None:
    client = sign_in(make_administrator())
    row = make_guard_endpoint(slug="blue")

    issued = client.post(address("guardendpoint_issue", row.pk), {"username": ""})
    stored = GuardEndpoint.objects.get()
    found = re.search(r'<pre class="dn-raw dn-token" tabindex="0">([0-9a-f]+)</pre>', read_text(issued))
    again = read_text(client.get(address("guardendpoint_change", row.pk)))
    bad = read_text(client.post(address("guardendpoint_issue", row.pk), {"username": "a:b"}, follow=True))
    removed = read_text(client.post(address("guardendpoint_unissue", row.pk), {}, follow=True))

    assert found is not None
    assert verify_credential(stored, "blue", found[1])
    assert f"http://blue:{found[1]}@&lt;host&gt;:8888/blue" in read_text(issued)
    assert "into its log" in read_text(issued)
    assert "no-store" in issued.headers["Cache-Control"]
    assert found[1] not in again
    assert "http://blue:&lt;password&gt;@&lt;host&gt;:8888/blue" in again
    assert "into its log" in again
    assert "cannot be used in a URL" in bad
    assert "none: nobody is asked for one" in removed
    assert client.get(address("guardendpoint_issue", row.pk)).status_code == 405


def test_who_is_no_administrator_reads_and_changes_nothing() -> None:
    client = sign_in(make_user("charlie"))
    row = make_guard_endpoint(slug="blue", username="blue", password_hash="h")
    make_desired_set(row, "www.example.org")

    page = read_text(client.get(address("guardendpoint_change", row.pk)))
    acts = [
        (name, client.post(address(name, row.pk), {"mode": "paused"}, follow=True))
        for name in ("guardendpoint_mode", "guardendpoint_issue", "guardendpoint_unissue")
    ]
    forms = [client.get(address(name, row.pk)) for name in ("guardendpoint_edit", "guardendpoint_remove")]

    assert "www.example.org" in page
    assert "Change to:" not in page
    assert "Issue another password" not in page
    assert all("may not change guard endpoints" in read_text(response) for _name, response in acts)
    assert [response.status_code for response in forms] == [403, 403]
    kept = GuardEndpoint.objects.get()
    assert (kept.mode, kept.username, kept.password_hash) == ("observe", "blue", "h")


def test_desired_endpoints_are_filtered_and_shown() -> None:
    client = sign_in(make_user("charlie"))
    row = make_guard_endpoint(slug="blue")
    green_zone = make_provider("green-zone", url="http://127.0.0.1:8")
    other = make_guard_endpoint(make_instance(make_owner("green-cluster"), "green"), green_zone, slug="green")
    make_desired_set(row, "www.example.org", "api.example.net")
    make_desired_set(other, "www.example.com")
    url = address("desiredendpoint_changelist")

    for query, names in (
        ({"guard_endpoint_name": "blue"}, {"www.example.org", "api.example.net"}),
        ({"guard_endpoint": str(other.pk)}, {"www.example.com"}),
        ({"owner_name": "green-cluster"}, {"www.example.com"}),
        ({"provider_name": "green-zone"}, {"www.example.com"}),
        ({"name_suffix": "Example.org."}, {"www.example.org"}),
        ({"type": "AAAA"}, set()),
    ):
        shown = client.get(url, query).context["cl"].result_list
        assert {each.name for each in shown} == names, query
    one = DesiredEndpoint.objects.get(name="www.example.org")
    page = read_text(client.get(address("desiredendpoint_change", one.pk)))

    assert all(text in page for text in ("ingress/shop/www", "300 s", "blue-cluster", "192.0.2.1"))


def test_a_record_set_says_who_wants_it_and_whether_that_is_stale() -> None:
    client = sign_in(make_user("charlie"))
    provider, owner = make_provider(), make_owner()
    wanted, unwanted = make_record_set(provider), make_record_set(provider, "api.example.org")
    elsewhere = make_record_set(make_provider("green-zone", url="http://127.0.0.1:8"))
    hour_ago = timezone.now() - timedelta(hours=1)
    for slug, values in (("fresh", {}), ("silent", {"last_seen_at": hour_ago})):
        row = make_guard_endpoint(make_instance(owner, slug), provider, slug=slug)
        make_desired_set(row, "www.example.org", **values)

    pages = [
        read_text(client.get(address("recordset_change", row.pk))) for row in (wanted, unwanted, elsewhere)
    ]

    assert all(text in pages[0] for text in ("Who wants it", ">fresh<", ">silent<", "ingress/shop/www"))
    assert (pages[0].count(">Current<"), pages[0].count(">Stale<")) == (1, 1)
    assert "No instance behind a guard endpoint at this provider wants this name and type." in pages[1]
    assert "Who wants it" not in pages[2]


def test_what_an_instance_posted_is_escaped() -> None:
    client = sign_in(make_administrator())
    row = make_guard_endpoint(slug="blue")
    make_desired_set(row, "www.example.org")
    script, override = "<script>alert(1)</script>", "\u202egro.elpmaxe"
    texts = {
        "resource": script,
        "set_identifier": override,
        "record_type": "<b>",
        "targets": [script, override],
    }
    DesiredEndpoint.objects.update(**texts, provider_specific=[[script, override]])
    record = make_record_set(row.provider, record_type="<b>", set_identifier=override)

    pages = [
        read_text(client.get(url))
        for url in (
            address("guardendpoint_change", row.pk),
            address("desiredendpoint_changelist"),
            address("desiredendpoint_change", row.desired_endpoints.get().pk),
            address("recordset_change", record.pk),
        )
    ]

    assert all("alert(1)" in page for page in pages)
    for hostile in (script, "<b>", "\u202e"):
        found = [number for number, page in enumerate(pages) if hostile in page]
        assert found == [], hostile
