"""The viewer of the API, in a real browser under our content security policy."""

import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.registry_app.api.client import API
from tests.registry_app.api.every_write import operations

CHROMIUM = shutil.which("chromium") or ""


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed")
@pytest.mark.django_db(transaction=True)
def test_it_shows_every_operation_without_a_complaint_or_another_host(live_server: LiveServer) -> None:
    complaints: list[str] = []
    asked: list[str] = []
    count = len(operations())
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        # It draws only what is in view.
        page = browser.new_page(viewport={"width": 1280, "height": 20_000})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))

        page.goto(f"{live_server.url}{API}/docs/")
        expect(page.locator(".opblock")).to_have_count(count, timeout=30_000)
        browser.close()
    elsewhere = [url for url in asked if not url.startswith((live_server.url, "data:"))]
    assert complaints == []
    assert elsewhere == []
