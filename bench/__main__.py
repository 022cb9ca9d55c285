"""`make bench`: every measured figure, as lines of JSON. `BENCH_RECORDS=1000000 make bench` for a million."""

import os

from bench.plan import measure_plan
from bench.rfc2136 import measure_rfc2136_read
from bench.route53 import measure_route53_read
from bench.serve import measure_serve
from bench.sync import measure_syncs
from bench.transfer import measure_transfer

if __name__ == "__main__":
    count = int(os.environ.get("BENCH_RECORDS", "100000"))
    measure_syncs(count)
    measure_plan(min(count, 100_000))
    measure_serve(min(count, 100_000))
    measure_rfc2136_read()
    measure_route53_read()
    measure_transfer(min(count, 100_000))
