"""Everything but live progress works in a browser that runs no scripts."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import (
    Desk,
    begin,
    choose_screen,
    fill_in_transfer,
    narrow_list,
    pick,
    read_public_id,
)
from tests.journeys.running import RunningDnsadmin
from tests.waiting import wait_until

pytestmark = pytest.mark.browser


def test_a_record_set_moves_without_any_script(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    name = "tracking.dev.ap-south.example.org"
    before = dnsadmin.zone_text("public-dns")
    page = desk.open_logged_in(java_script_enabled=False)

    choose_screen(page, "Record sets")
    narrow_list(page, name_prefix=name)
    pick(page, name)
    begin(page, "Transfer to another owner")
    fill_in_transfer(page, target="blue-cluster", intent="It wants them with the same targets")
    page.get_by_role("button", name="Request 1 record set").click()
    expect(page.locator("noscript p")).to_be_visible()
    wait_until(lambda: _reload(page) == "Verified", "the page to say that it is verified")

    assert dnsadmin.zone_text("public-dns") != before
    dnsadmin.undo(read_public_id(page))
    assert dnsadmin.zone_text("public-dns") == before


def test_every_screen_can_be_reached_on_a_narrow_page_without_scripts(desk: Desk) -> None:
    page = desk.open_logged_in(java_script_enabled=False, viewport={"width": 800, "height": 900})

    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Providers").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Providers")
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.get_by_role("navigation", name="Screens")).to_be_hidden()


def _reload(page: Page) -> str:
    page.reload()
    return page.locator("#progress [data-role=badge]").inner_text()
