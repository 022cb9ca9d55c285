"""The watch over pages is worth something only if it hears what it watches for."""

import pytest
from playwright.sync_api import Browser

from tests.journeys.browser import Desk
from tests.journeys.running import RunningDnsadmin
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

ELSEWHERE = "http://192.0.2.1/"


def test_it_hears_of_errors_violations_and_other_hosts(browser: Browser, dnsadmin: RunningDnsadmin) -> None:
    desk = Desk(browser, dnsadmin)
    page = desk.open_logged_in()
    assert desk.complaints == []

    page.evaluate("setTimeout(() => { throw new Error('a script of ours broke') })")
    page.evaluate(f"fetch('{ELSEWHERE}').catch(() => 0)")
    page.evaluate(f"open('{ELSEWHERE}')")

    def heard(text: str) -> bool:
        page.evaluate("0")  # lets what the browser has to say arrive
        return any(text in complaint for complaint in desk.complaints)

    wait_until(lambda: heard("a script of ours broke"), "the error of the script")
    wait_until(lambda: heard("content security policy: connect-src"), "the violation")
    wait_until(lambda: heard(f"another host: {ELSEWHERE}"), "the request to another host")
    desk.close()
