"""Forms that come too late, and forms that come twice."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import Desk, expect_status, fill_in_transfer, read_public_id
from tests.journeys.running import RunningDnsadmin

pytestmark = pytest.mark.browser


def _preview(page: Page, *names: str, **filled: str) -> None:
    query = "&".join(f"names={name}" for name in names)
    page.goto(f"/admin/registry_app/transfer/request/?{query}&type=A")
    fill_in_transfer(page, target="green-cluster", **filled)


def test_a_preview_that_is_no_longer_true_is_refused_with_what_changed(
    desk: Desk, dnsadmin: RunningDnsadmin
) -> None:
    names = [f"{service}.staging.eu-west.example.org" for service in ("partners", "payments", "profile")]
    page = desk.open_logged_in(refusals={409})
    _preview(page, *names, intent="It wants them with the same targets", reason="moved after the audit")
    body = {
        "kind": "transfer",
        "reason": "somebody is faster",
        "selection": {"names": names[1:2]},
        "target_owner": "green-cluster",
        "target_intent": "same",
    }
    faster = dnsadmin.request_reviewed(body)["id"]
    assert dnsadmin.wait_for_end(faster)["status"] == "verified"
    text, transfers = dnsadmin.zone_text("public-dns"), len(dnsadmin.fetch_all("transfers/"))

    page.get_by_role("button", name="Request 3 record sets").click()

    expect(page.get_by_text("1 line new or different (marked), 1 line removed")).to_be_visible()
    expect(page.locator("tr.dn-moved")).to_contain_text(names[1])
    expect(page.get_by_text("Reason: moved after the audit")).to_be_visible()
    expect(page.get_by_role("button", name="Request 2 record sets")).to_be_visible()
    assert len(dnsadmin.fetch_all("transfers/")) == transfers
    assert dnsadmin.zone_text("public-dns") == text
    dnsadmin.undo(faster)


def test_a_double_click_makes_one_transfer(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    before, transfers = dnsadmin.zone_text("public-dns"), len(dnsadmin.fetch_all("transfers/"))
    page = desk.open_logged_in()
    _preview(page, "refunds.qa.eu-west.example.org", intent="It wants them with the same targets")

    page.get_by_role("button", name="Request 1 record set").dblclick()
    expect_status(page, "Verified")

    assert len(dnsadmin.fetch_all("transfers/")) == transfers + 1
    dnsadmin.undo(read_public_id(page))
    assert dnsadmin.zone_text("public-dns") == before


def test_the_same_request_from_two_windows_makes_one_transfer(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    transfers = len(dnsadmin.fetch_all("transfers/"))
    page = desk.open_logged_in()
    other_window = page.context.new_page()
    for window in (page, other_window):
        _preview(window, "cache-11.gru.edge.example.net", intent="It wants them with the same targets")

    for window in (page, other_window):
        window.get_by_role("button", name="Request 1 record set").click()
        expect_status(window, "Requested")

    expect(other_window.get_by_text("This was already requested: this is the transfer.")).to_be_visible()
    assert other_window.url == page.url
    assert len(dnsadmin.fetch_all("transfers/")) == transfers + 1
    public_id = read_public_id(page)
    dnsadmin.call("POST", f"transfers/{public_id}/cancel/", {"reason": "the journey is over"})
