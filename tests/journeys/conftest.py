"""One running installation for all journeys of a process: each uses record sets of its own."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from dnsadmin.free_port import find_free_port
from tests.journeys.browser import Desk, running_browser
from tests.journeys.running import RunningDnsadmin, running_dnsadmin
from tests.project.operations.scraping import TOKEN


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/journeys/"):
            item.add_marker(pytest.mark.deep)


@pytest.fixture(scope="session")
def dnsadmin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDnsadmin]:
    state = tmp_path_factory.mktemp("journey") / "state"
    # A journey makes the second person it needs: that nobody is two people for a day is shown elsewhere.
    settings = {
        "DNSADMIN_LEASE_SECONDS": "6",
        "DNSADMIN_ACCOUNT_SETTLES_HOURS": "0",
        "DNSADMIN_WEB_PROCESSES": "2",
        "DNSADMIN_LOG_FORMAT": "json",
        "DNSADMIN_METRICS_TOKEN": TOKEN,
        "DNSADMIN_WORKER_OPERATIONS_PORT": str(find_free_port()),
        "DNSADMIN_BEAT_OPERATIONS_PORT": str(find_free_port()),
    }
    with running_dnsadmin(state, settings) as system:
        yield system


# Not for the whole session: while it runs, its event loop makes Django refuse every database query of
# other tests in this process.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture
def desk(browser: Browser, dnsadmin: RunningDnsadmin) -> Iterator[Desk]:
    """Fails the test at its end if a page did what no page may do."""
    desk = Desk(browser, dnsadmin)
    yield desk
    desk.close()
    assert desk.complaints == []
