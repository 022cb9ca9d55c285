"""A person at a browser: Chromium, watched for what no page of ours may do, and the steps people repeat."""

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.journeys.running import RunningDnsadmin

CHROMIUM = shutil.which("chromium") or ""
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_PATIENCE_MS = 15_000
_VIOLATION = "violates the content security policy"
# In words of ours: how Chromium words a violation in its console changes between versions.
_TELL_OF_VIOLATIONS = f"""
addEventListener("securitypolicyviolation", (told) =>
    console.error(`${{told.blockedURI}} {_VIOLATION}: ${{told.effectiveDirective}}`));
"""
_REFUSAL = re.compile(r"the server responded with a status of (\d+)")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window. A test that needs it is skipped where there is none."""
    if not CHROMIUM:
        pytest.skip("Debian's chromium is not installed")
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


class Desk:
    """Where people open pages, each as a stranger: without cookies, and without what others have open.

    `complaints` is everything that happened on any page and never may: an error in the console, a script
    that failed, a violation of the content security policy, a request to another host than ours.
    """

    def __init__(self, browser: Browser, system: RunningDnsadmin) -> None:
        self.system = system
        self.complaints: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def open(self, *, refusals: Collection[int] = (), **options: Any) -> Page:
        """A page at the door. `refusals` are the HTTP statuses this visitor is meant to meet."""
        options = {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light", **options}
        context = self._browser.new_context(base_url=self.system.url, **options)
        context.set_default_timeout(_PATIENCE_MS)
        context.add_init_script(_TELL_OF_VIOLATIONS)
        context.on("console", lambda message: self._hear(message, refusals))
        context.on("weberror", lambda error: self.complaints.append(f"a script failed: {error.error}"))
        context.on("request", self._see)
        self._contexts.append(context)
        return context.new_page()

    def log_in(self, page: Page, username: str = "admin", password: str = "") -> None:
        """Log in at the front door; without a password, with the one in the state folder."""
        page.goto("/")
        page.get_by_label("Username").fill(username)
        page.get_by_label("Password").fill(password or self.system.password)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()

    def open_logged_in(self, *, refusals: Collection[int] = (), **options: Any) -> Page:
        """The page of an administrator who has just logged in."""
        page = self.open(refusals=refusals, **options)
        self.log_in(page)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _hear(self, message: ConsoleMessage, refusals: Collection[int]) -> None:
        refusal = _REFUSAL.search(message.text)
        if refusal and int(refusal[1]) in refusals:
            return
        if message.type in ("error", "warning") or _VIOLATION in message.text:
            self.complaints.append(f"{message.type} at {message.location}: {message.text}")

    def _see(self, request: Request) -> None:
        if not request.url.startswith((self.system.url, "data:", "blob:")):
            self.complaints.append(f"a request to another host: {request.url}")


def choose_screen(page: Page, title: str) -> None:
    """Go to a screen by its name beside the page."""
    # The theme's icons are words in a font: "dns Record sets".
    name = re.compile(rf"(^|\s){re.escape(title)}$")
    page.locator("#nav-sidebar-inner").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)


def narrow_list(page: Page, **wanted: str) -> None:
    """Filter a list by its own form; a choice is given by its label, as a person reads it."""
    form = page.get_by_role("search", name="Filter")
    for name, value in wanted.items():
        field = form.locator(f"[name={name}]")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(label=value)
        else:
            field.fill(value)
    form.get_by_role("button", name="Filter").click()
    expect(page).to_have_url(re.compile(rf"[?&]{next(iter(wanted))}="))
    # The address is another before all lines of the list are there.
    page.wait_for_load_state()


def read_names(page: Page) -> list[str]:
    """The names on this page of a list, from above."""
    return page.locator("#result_list th .dn-name").all_inner_texts()


def pick(page: Page, name: str) -> None:
    """Tick the line of a list that shows this name, and no other."""
    line = page.locator("#result_list tr", has=page.get_by_text(name, exact=True))
    line.get_by_role("checkbox").check()


def begin(page: Page, act: str) -> None:
    """Choose what to do with what is ticked."""
    page.locator("select[name=action]").select_option(label=act)
    page.locator("#changelist-actions").get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="New owner")).to_be_visible()


def fill_in_transfer(page: Page, *, target: str = "", intent: str = "", reason: str = "a journey") -> None:
    """Fill in what a transfer of record sets already picked still needs, and look at the preview."""
    if target:
        page.get_by_label("New owner", exact=False).fill(target)
    if intent:
        page.get_by_label(intent, exact=True).check()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="preview")).to_be_visible()


def confirm(page: Page) -> str:
    """Type the text the page asks for; returns it."""
    label = page.locator("label[for=confirmation]")
    text = label.locator("code").first.inner_text()
    page.locator("#confirmation").fill(text)
    return text


def expect_status(page: Page, label: str) -> None:
    """Wait until the page of a transfer says it is in this state."""
    expect(page.locator("#progress [data-role=badge]")).to_have_text(label)


def read_public_id(page: Page) -> str:
    """The id the API knows the transfer by whose page this is."""
    row = page.locator("dl.dn-facts > div").filter(has=page.locator("dt", has_text="Public id"))
    return row.locator("code").inner_text()


def measure_overflow(page: Page) -> int:
    """How many pixels the page is wider than the window: 0 if nothing has to be scrolled sideways."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def save_screenshot(page: Page, name: str) -> None:
    """Keep what the window shows as `name`.png, if DNSADMIN_SCREENSHOTS names a folder for it.

    For the docs, run the journey alone: others leave providers behind that no longer answer.
    """
    folder = os.environ.get("DNSADMIN_SCREENSHOTS")
    if folder:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=Path(folder) / f"{name}.png")
