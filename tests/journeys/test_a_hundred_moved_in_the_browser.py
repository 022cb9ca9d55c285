"""A person who never saw dnsadmin moves a hundred record sets and back, and the zones hold exactly that."""

from threading import Event

import pytest
from playwright.sync_api import Page, expect

from providers.wire.endpoint import EndpointKey
from tests.faults.write_faults import meanwhile
from tests.journeys.browser import (
    Desk,
    begin,
    choose_screen,
    confirm,
    expect_status,
    fill_in_transfer,
    narrow_list,
    read_names,
    save_screenshot,
)
from tests.journeys.running import RunningDnsadmin
from tests.reference_server import ReferenceProvider, make_zone

pytestmark = pytest.mark.browser


def _pick_a_hundred(page: Page) -> list[str]:
    choose_screen(page, "Record sets")
    narrow_list(page, owner_name="blue-cluster", type="A", name_suffix="us-east.example.org")
    names = read_names(page)
    save_screenshot(page, "record-sets")
    page.locator("#action-toggle").check()
    expect(page.get_by_text("100 of 100 selected")).to_be_visible()
    begin(page, "Transfer to another owner")
    expect(page.get_by_text("100 picked from a list.")).to_be_visible()
    return names


def _raise_unless_seen(is_seen: Event) -> None:
    """Keep the provider from answering until the page was seen to follow."""
    assert is_seen.wait(20)


def test_a_hundred_record_sets_move_to_another_owner_and_back(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    before, text_before = dnsadmin.zone("public-dns"), dnsadmin.zone_text("public-dns")
    page = desk.open_logged_in()
    for provider in ("public-dns", "edge-dns", "legacy-dns"):
        expect(page.get_by_role("link", name=provider, exact=True).first).to_be_visible()

    names = _pick_a_hundred(page)
    fill_in_transfer(
        page, target="green-cluster", intent="I do not know", reason="blue-cluster is taken down"
    )

    assert len(set(names)) == 100
    # The AAAA record sets of the same owner at these names go along.
    others = {key for key in before if key.name in names and key.record_type == "AAAA"}
    total = 100 + len(others)
    expect(page.locator(".dn-count")).to_have_text([f"Unknown {total}"])
    expect(page.get_by_text("Added:").first).to_be_visible()
    first = page.locator(".dn-table tbody tr", has_text=names[0]).first
    expect(first.locator(".dn-change")).to_contain_text("owner=green-cluster")
    save_screenshot(page, "transfer-preview")
    assert dnsadmin.zone("public-dns") == before

    assert confirm(page) == f"transfer {total} record sets to green-cluster"
    page.get_by_role("button", name=f"Request {total} record sets").click()
    expect_status(page, "Verified")

    after = dnsadmin.zone("public-dns")
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    moved = {("a", name) for name in names} | {("aaaa", key.name) for key in others}
    assert changed == {EndpointKey(f"{kind}-{name}", "TXT", "") for kind, name in moved}
    for key in changed:
        (old,), (new,) = before[key].targets, after[key].targets
        assert new == old.replace("owner=blue-cluster", "owner=green-cluster")
    save_screenshot(page, "transfer-verified")

    address = page.url
    page.goto("/admin/")
    expect(page.get_by_text("Owner changed:").first).to_be_visible()
    save_screenshot(page, "dashboard")

    page.goto(address)
    page.get_by_role("link", name="Preview the undo").click()
    page.get_by_label("Reason").fill("it is not taken down after all")
    confirm(page)
    page.get_by_role("button", name="Request the undo").click()
    expect_status(page, "Verified")

    assert dnsadmin.zone_text("public-dns") == text_before


def test_the_page_of_a_transfer_follows_it_by_itself(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    with ReferenceProvider(make_zone("blue-cluster", 20, domain="slow.example.org")) as reference:
        dnsadmin.register_provider("slow-dns", reference.url)
        is_seen = Event()
        reference.faults.plan("POST /records", meanwhile(lambda: _raise_unless_seen(is_seen)))
        page = desk.open_logged_in()
        page.goto("/admin/registry_app/transfer/request/?names=app-00000.slow.example.org")
        fill_in_transfer(page, target="green-cluster", intent="It wants them with the same targets")

        page.get_by_role("button", name="Request 1 record set").click()
        page.wait_for_url("**/change/")
        page.evaluate("document.body.dataset.loaded = 'once'")
        expect_status(page, "Sending")
        assert page.evaluate("document.body.dataset.loaded") == "once"
        is_seen.set()

        expect_status(page, "Verified")
        expect(page.get_by_role("link", name="Preview the undo")).to_be_visible()
