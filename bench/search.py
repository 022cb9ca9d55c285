"""What a search for a part of a name costs: the list page of what few record sets hold, over the list page
without a filter, both of the same record sets in turns. Names, targets and resources are searched."""

import logging
import statistics
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from bench.figures import Figure, Report
from bench.processes import prepare, product_folder, run_apart

NAMES = ("search", "search-api")
_OWNERS = 40
_TURNS = 9
_SLICE = 10_000


class SearchFigures(NamedTuple):
    """Medians, in seconds, of the slowest of the texts."""

    page: float
    found_page: float
    api: float
    found_api: float


def measure_search(count: int, report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times."""
    with product_folder() as folder:
        (provider_id,) = run_apart(prepare, folder, ["http://127.0.0.1:1"])
        indexed = run_apart(fill, provider_id, count)
        sys.stderr.write(f"  the index of {count:,} record sets was made in {indexed:.1f} s\n")
        for _ in range(rounds):
            found = run_apart(read_pages, count)
            report.add(Figure("search", found.found_page, found.page, 1.5))
            report.add(Figure("search-api", found.found_api, found.api))


def fill(provider_id: int, count: int, result: Connection) -> None:
    """Store record sets past the sync; sends the seconds for their index, made when they are there."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.db import connection, transaction

    from registry_app.models import Owner, RecordSet
    from registry_app.queries.search import INDEX
    from registry_app.reconcile.rows.bulk import insert_rows
    from registry_app.reconcile.search_index import rebuild_search_index

    get_user_model().objects.create_superuser("alice")
    owners = [Owner.objects.create(owner_id=f"cluster-{number}").pk for number in range(_OWNERS)]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {INDEX}")
    for start in range(0, count, _SLICE):
        rows = list(_make_rows(provider_id, owners, range(start, min(start + _SLICE, count))))
        with transaction.atomic():
            insert_rows(RecordSet, _COLUMNS, rows)
    started = time.perf_counter()
    rebuild_search_index()
    seconds = time.perf_counter() - started
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    result.send(seconds)


_COLUMNS = (
    "provider_id",
    "name",
    "name_reversed",
    "record_type",
    "targets",
    "resource",
    "state",
    "owner_id",
    "digest",
    "first_seen_at",
    "changed_at",
    "set_identifier",
    "ttl",
    "provider_specific",
    "labels",
    "beliefs",
    "missing_snapshots",
)


def _make_rows(provider_id: int, owners: list[int], numbers: range) -> Iterator[tuple[Any, ...]]:
    from django.utils import timezone

    from providers.wire.canonical_name import reversed_name
    from registry_app.reconcile.rows.bulk import stored_time

    now = stored_time(timezone.now())
    for number in numbers:
        name = f"app-{number:07d}.team-{number % _OWNERS}.example.org"
        yield (
            provider_id,
            name,
            reversed_name(name),
            "A",
            f'["10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"]',
            f"ingress/shop-{number % 1000}/app-{number:07d}",
            "owned",
            owners[number % _OWNERS],
            number.to_bytes(16, "big"),
            now,
            now,
            "",
            300,
            "[]",
            "{}",
            "[]",
            0,
        )


def read_pages(count: int, result: Connection) -> None:
    """Sends the figures of pages and of the API, read in turns by one client."""
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    settings.ALLOWED_HOSTS = ["testserver"]
    logging.disable(logging.WARNING)  # there is no cache in which requests are counted
    client = Client()
    client.force_login(get_user_model().objects.get(username="alice"))
    number = count // 2 + 7
    texts = (
        f"{number:07d}",
        f"p-{number:07d}.team",
        f"{number:07d}.team-{number % _OWNERS}.example.org",
        f"{number >> 8 & 255}.{number & 255}",
        f"/app-{number // 10:06d}",
        "nowhere-at-all",
    )
    seconds: dict[tuple[str, str], list[float]] = {}
    for turn in range(_TURNS + 1):
        for path in ("/admin/registry_app/recordset/", "/api/v1/record-sets/"):
            for text in ("", *texts):
                started = time.perf_counter()
                response = client.get(path, {"q": text} if text else {}, secure=True)
                if response.status_code != 200:
                    raise RuntimeError(f"{path} answered {response.status_code}: {response.content[:500]!r}")
                if turn:  # the first one warms caches
                    seconds.setdefault((path, text), []).append(time.perf_counter() - started)
    medians = {key: statistics.median(each) for key, each in seconds.items()}
    for (path, text), median in medians.items():
        sys.stderr.write(f"  {path} {text or '(no filter)'}: {median * 1000:.0f} ms\n")
    plain, found = ({path: 0.0 for path, _ in medians} for _ in range(2))
    for (path, text), median in medians.items():
        target = found if text else plain
        target[path] = max(target[path], median)
    page, api = plain
    result.send(SearchFigures(plain[page], found[page], plain[api], found[api]))
