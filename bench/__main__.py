"""`make bench`: product and floor, measured in turns in one run. Settings are environment variables.

SIZE: how many record sets (100,000). ROUNDS: how often each figure is measured (3, and 1 from a million on);
the line shows the round with the median ratio. ONLY: names of figures, or beginnings of names, separated by
spaces. DATABASE_URL: a PostgreSQL database that may be emptied, in place of a fresh SQLite file.

A fleet of instances behind one guard is measured by itself: `make guard-fleet`.
"""

import os
import sys
from collections.abc import Callable, Sequence

from bench import export, fleet, guard, pages, plan, rfc2136, route53, search, serve, sync, transfer
from bench.figures import Report, format_header

_SMALL = 100_000
# As many as ExternalDNS reads in a body of its default size.
_ENDPOINTS = 60_000
_MILLION = 1_000_000

_Measure = Callable[[Report, int], None]


def list_measurements(size: int) -> list[tuple[Sequence[str], _Measure]]:
    """The names of figures with what measures them."""
    small = min(size, _SMALL)
    endpoints = min(size, _ENDPOINTS)
    return [
        (sync.NAMES, lambda report, rounds: sync.measure_syncs(size, report, rounds)),
        (transfer.NAMES, transfer.measure_transfer),
        (export.NAMES, lambda report, rounds: export.measure_export(size, report, rounds)),
        (pages.NAMES, lambda report, rounds: pages.measure_pages(size, report, rounds)),
        (search.NAMES, lambda report, rounds: search.measure_search(size, report, rounds)),
        (fleet.NAMES, fleet.measure_fleet),
        (plan.NAMES, lambda report, rounds: plan.measure_plan(small, report, rounds)),
        (serve.NAMES, lambda report, rounds: serve.measure_serve(small, report, rounds)),
        (rfc2136.NAMES, rfc2136.measure_rfc2136_read),
        (guard.GET_NAMES, lambda report, rounds: guard.measure_get(endpoints, report, rounds)),
        (guard.POST_NAMES, lambda report, rounds: guard.measure_post(small, report, rounds)),
        (route53.NAMES, route53.measure_route53_read),
    ]


def main() -> None:
    """Measure, print a line for each figure, and write bench/results.json."""
    size = int(os.environ.get("SIZE", _SMALL))
    rounds = int(os.environ.get("ROUNDS", "1" if size >= _MILLION else "3"))
    wanted = tuple(os.environ.get("ONLY", "").split())
    database = os.environ.get("DATABASE_URL", "sqlite").partition(":")[0]
    report = Report()
    sys.stdout.write(f"{size:,} record sets, {database}\n{format_header()}\n")
    for names, measure in list_measurements(size):
        if not wanted or any(name.startswith(wanted) for name in names):
            measure(report, rounds)
            report.finish(names)
    report.write(size=size, database=database)


if __name__ == "__main__":
    main()
