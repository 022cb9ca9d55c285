"""On a phone nothing has to be scrolled sideways; in the dark nothing shines."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import Desk, fill_in_transfer, measure_overflow
from tests.journeys.running import RunningDnsadmin

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
NAME = "cache-09.syd.edge.example.net"
# The sum of red, green and blue of a colour as computed: 0 is black, 765 is white.
_BRIGHTNESS = """(element, property) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = getComputedStyle(element)[property];
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((sum, part) => sum + part);
}"""


@pytest.fixture
def waiting_transfer(dnsadmin: RunningDnsadmin) -> Iterator[str]:
    """The address of a transfer that waits for another person, and changes nothing meanwhile."""
    body = {
        "kind": "transfer",
        "reason": "a journey",
        "selection": {"names": [NAME]},
        "target_owner": "default",
        "target_intent": "same",
    }
    transfer = dnsadmin.request_reviewed(body)
    yield f"/admin/registry_app/transfer/{transfer['id']}/change/"
    dnsadmin.call("POST", f"transfers/{transfer['id']}/cancel/", {"reason": "the journey is over"})


def _preview(page: Page) -> None:
    page.goto("/admin/registry_app/transfer/request/?names=orders.dev.us-east.example.org")
    fill_in_transfer(page, target="green-cluster")


def test_nothing_has_to_be_scrolled_sideways_on_a_phone(desk: Desk, waiting_transfer: str) -> None:
    page = desk.open_logged_in(viewport=PHONE)

    widths = {"dashboard": measure_overflow(page)}
    for screen in ("recordset", "finding", "provider", "transfer"):
        page.goto(f"/admin/registry_app/{screen}/")
        widths[screen] = measure_overflow(page)
    page.goto(waiting_transfer)
    expect(page.get_by_text(NAME).first).to_be_visible()
    widths["a transfer"] = measure_overflow(page)
    _preview(page)
    widths["a preview"] = measure_overflow(page)

    assert {name: width for name, width in widths.items() if width} == {}


def _measure_brightness(page: Page, address: str) -> dict[str, tuple[int, int]]:
    """How bright grounds and the texts on them are."""
    page.goto(address)
    page.add_style_tag(content="* { transition: none !important }")
    parts = {part: page.locator(part).first for part in ("body", ".dn-panel", ".dn-filters input")}
    return {
        part: (
            element.evaluate(_BRIGHTNESS, "backgroundColor"),
            element.evaluate(_BRIGHTNESS, "color"),
        )
        for part, element in parts.items()
        if element.count()
    }


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_pages_follow_the_colour_scheme_of_the_browser(
    desk: Desk, waiting_transfer: str, scheme: Literal["dark", "light"]
) -> None:
    page = desk.open_logged_in(color_scheme=scheme)

    for address in ("/admin/", "/admin/registry_app/recordset/", waiting_transfer):
        for part, (ground, text) in _measure_brightness(page, address).items():
            dark, bright = (ground, text) if scheme == "dark" else (text, ground)
            assert dark < 300 < 450 < bright, (address, part, ground, text)
