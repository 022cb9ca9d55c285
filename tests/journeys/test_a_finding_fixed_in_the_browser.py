"""A finding is read, its suggested fix is taken, and it resolves itself."""

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import Desk, choose_screen, expect_status, fill_in_transfer, narrow_list
from tests.journeys.running import RunningDnsadmin
from tests.reference_server import ReferenceProvider, make_claim, make_zone

pytestmark = pytest.mark.browser


def test_an_orphan_claim_is_cleaned_up_by_its_suggested_fix(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    zone = make_zone("blue-cluster", 20, domain="tidy.example.org")
    orphan = make_claim("gone.tidy.example.org")
    with ReferenceProvider([*zone, orphan]) as reference:
        dnsadmin.register_provider("tidy-dns", reference.url)
        page = desk.open_logged_in()

        choose_screen(page, "Findings")
        narrow_list(page, kind="Claim without record", provider_name="tidy-dns")
        expect(page.locator("#result_list .dn-name")).to_have_text("gone.tidy.example.org A")
        page.locator("#result_list").get_by_role("link", name="Claim without record").click()
        address = page.url
        page.get_by_role("link", name="Suggested: ").click()
        fill_in_transfer(page)
        page.get_by_role("button", name="Request 1 record set").click()
        expect_status(page, "Verified")

        page.goto(address)
        expect(page.locator(".dn-lead")).to_contain_text("Resolved")
        expect(page.get_by_role("link", name="Suggested: ")).to_have_count(0)
        assert orphan not in reference.endpoints()
        assert len(reference.endpoints()) == len(zone)
