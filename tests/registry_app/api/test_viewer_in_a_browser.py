"""The viewer of the API, in a real browser under our content security policy."""

import shutil

import pytest
from playwright.sync_api import sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.registry_app.api.client import API

CHROMIUM = shutil.which("chromium") or ""


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed")
@pytest.mark.django_db(transaction=True)
def test_it_shows_every_operation_without_a_complaint_or_another_host(live_server: LiveServer) -> None:
    complaints: list[str] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))

        page.goto(f"{live_server.url}{API}/docs/")
        page.wait_for_selector(".opblock")

        shown = page.locator(".opblock").count()
        browser.close()
    elsewhere = [url for url in asked if not url.startswith((live_server.url, "data:"))]
    assert shown > 45
    assert complaints == []
    assert elsewhere == []
