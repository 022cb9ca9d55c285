"""`make bench`: every measured figure, as lines of JSON. `BENCH_RECORDS=1000000 make bench` for a million."""

import os

from bench.visit import measure_visits

if __name__ == "__main__":
    measure_visits(int(os.environ.get("BENCH_RECORDS", "100000")))
