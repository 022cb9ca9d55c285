"""What pages and lists of the API cost: of many record sets over a thousand, and over a bare application.

Two databases, filled in bulk, each behind a process of the web role; requests go to them in
turns. A figure is the median of them.
"""

import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from bench.figures import Figure, Report
from bench.filled import Filled, fill
from bench.processes import product_folder, run_apart
from bench.web import BARE, PRODUCT, Reader, broker, web_server

_SMALL = 1_000
_REQUESTS, _WARM = 15, 3
_LIST = "/api/v1/record-sets/?limit=100"
_RECORD_SETS = "/admin/registry_app/recordset/"
# The address of each page; the last page of a list is as far as it goes.
PAGES: Mapping[str, Callable[[int, Filled], str]] = {
    "page-record-sets": lambda _size, _filled: _RECORD_SETS,
    "page-owners": lambda _size, _filled: "/admin/registry_app/owner/",
    "page-provider": lambda _size, filled: f"/admin/registry_app/provider/{filled.provider}/change/",
    "page-findings": lambda _size, _filled: "/admin/registry_app/finding/",
    "page-no-hit": lambda _size, filled: f"{_RECORD_SETS}?type=NAPTR&provider={filled.provider}",
    "page-deep": lambda size, _filled: f"{_RECORD_SETS}?p={min(size, 10_000) // 100}",
    "page-dashboard": lambda _size, _filled: "/admin/",
}
_TWO_FILTERS = f"{_RECORD_SETS}?type=AAAA&provider="
NAMES = (*PAGES, "page-two-filters", "api-list", "api-empty")


class Served(NamedTuple):
    """A database behind a web server, with what signs in there. `settings` make another process use it."""

    size: int
    filled: Filled
    settings: Mapping[str, str]
    pages: Reader
    lists: Reader


def measure_pages(size: int, report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times."""
    with product_folder() as folder, broker() as settings, ExitStack() as stack:
        large = stack.enter_context(_serve(folder / "large", size, settings))
        small = stack.enter_context(_serve(folder / "small", _SMALL, settings))
        bare = Reader(stack.enter_context(web_server(BARE, large.settings)), {})
        for _ in range(rounds):
            for name in PAGES:
                product = partial(_read_page, large, name)
                _add(report, name, product, partial(_read_page, small, name), 1.3)
            two_filters = partial(large.pages.read, f"{_TWO_FILTERS}{large.filled.provider}")
            _add(report, "page-two-filters", two_filters, partial(large.pages.read, _RECORD_SETS), 1.3)
            _add(report, "api-list", partial(large.lists.read, _LIST), partial(bare.read, "/"), 2.0)
            _add_empty(report, large)


def _read_page(served: Served, name: str) -> tuple[float, bytes]:
    return served.pages.read(PAGES[name](served.size, served.filled))


def _add(
    report: Report,
    name: str,
    product: Callable[[], tuple[float, bytes]],
    floor: Callable[[], tuple[float, bytes]],
    bar: float,
) -> None:
    taken: list[tuple[float, float]] = []
    for number in range(_REQUESTS + _WARM):
        pair = product()[0], floor()[0]
        if number >= _WARM:  # the first ones load what later ones have
            taken.append(pair)
    value, least = (statistics.median(side) for side in zip(*taken, strict=True))
    report.add(Figure(name, value, least, bar))


def _add_empty(report: Report, served: Served) -> None:
    """An answer without rows, over two milliseconds."""
    address = "/api/v1/loop-runs/"
    seconds = statistics.median(served.lists.read(address)[0] for _ in range(_REQUESTS * 3))
    report.add(Figure("api-empty", seconds, 0.002, 1.0))


@contextmanager
def _serve(state: Path, size: int, settings: Mapping[str, str]) -> Iterator[Served]:
    state.mkdir()
    own = {**settings, "DNSADMIN_STATE_DIR": str(state)}
    if url := os.environ.get("DATABASE_URL"):
        own["DATABASE_URL"] = _create_database(url, state.name)
    filled: Filled = run_apart(fill, own, size)
    with web_server(PRODUCT, own) as port:
        cookie = {"Cookie": f"sessionid={filled.session}"}
        token = {"Authorization": f"Bearer {filled.token}"}
        yield Served(size, filled, own, Reader(port, cookie), Reader(port, token))


def _create_database(url: str, suffix: str) -> str:
    """The address of an empty database beside the one of `url`."""
    import psycopg
    from psycopg import sql

    parts = urlsplit(url)
    name = f"{parts.path[1:]}_{suffix}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(parts._replace(path=f"/{name}"))
