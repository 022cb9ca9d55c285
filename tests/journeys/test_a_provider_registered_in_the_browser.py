"""A provider is registered, tested and synced, by somebody who mistypes its address first."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import Desk, choose_screen, narrow_list, read_names
from tests.reference_server import ReferenceProvider, make_zone
from tests.waiting import wait_until

pytestmark = pytest.mark.browser


def _count_syncs(page: Page, address: str) -> int:
    page.goto(address)
    return page.locator(".dn-sync").count()


def test_a_provider_is_registered_tested_synced_and_its_records_are_there(desk: Desk) -> None:
    with ReferenceProvider(make_zone("blue-cluster", 12, domain="fresh.example.org")) as reference:
        page = desk.open_logged_in(refusals={422})
        choose_screen(page, "Providers")
        page.get_by_role("link", name="Register provider").click()
        page.get_by_label("Name required", exact=True).fill("fresh-dns")
        page.get_by_label("URL required", exact=True).fill("ftp://127.0.0.1:8888")
        page.get_by_label("Description").fill("what the workshop runs")
        page.get_by_label("Sync interval (seconds)").fill("3600")
        page.get_by_role("button", name="Register provider").click()

        field = page.locator(".dn-field", has=page.get_by_label("URL required", exact=True))
        expect(field.get_by_role("alert")).to_contain_text("http")
        expect(page.get_by_label("Name required", exact=True)).to_have_value("fresh-dns")
        expect(page.get_by_label("Description")).to_have_value("what the workshop runs")

        page.get_by_label("URL required", exact=True).fill(reference.url)
        page.get_by_role("button", name="Register provider").click()
        expect(page.get_by_text("Registered.")).to_be_visible()
        address = page.url
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_text("24 endpoints in")).to_be_visible()
        page.get_by_role("link", name="Back to the provider").click()
        page.get_by_role("button", name="Sync now").click()
        expect(page.get_by_text("Sync requested")).to_be_visible()
        wait_until(lambda: _count_syncs(page, address), "the sync to be on the page")

        choose_screen(page, "Record sets")
        narrow_list(page, provider_name="fresh-dns")
        assert read_names(page) == [f"app-{number:05d}.fresh.example.org" for number in range(12)]
