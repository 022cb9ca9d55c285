"""A provider that answers an empty list empties nothing, and a person decides."""

from typing import Any

from tests.faults.read_faults import empty_list
from tests.journeys.running import RunningDnsadmin
from tests.reference_server import ReferenceProvider, make_zone
from tests.waiting import wait_until


def _provider(dnsadmin: RunningDnsadmin, provider_id: int) -> dict[str, Any]:
    return dict(dnsadmin.call("GET", f"providers/{provider_id}/"))


def test_an_empty_list_is_held_until_somebody_accepts_it(dnsadmin: RunningDnsadmin) -> None:
    with ReferenceProvider(make_zone("blue-cluster", 25)) as reference:
        values = {"name": "empty-dns", "url": reference.url, "interval_seconds": 5}
        provider_id = dnsadmin.call("POST", "providers/", values)["id"]
        wait_until(lambda: _provider(dnsadmin, provider_id)["status"] == "ok", "the first sync")
        seen = dnsadmin.fetch_all("record-sets/", provider="empty-dns")
        assert len(seen) == 25

        reference.faults.plan("GET /records", empty_list(), times=None)
        wait_until(lambda: _provider(dnsadmin, provider_id)["status"] == "held", "the hold")

        assert dnsadmin.fetch_all("record-sets/", provider="empty-dns") == seen
        (held,) = dnsadmin.call("GET", "held-snapshots/", provider="empty-dns")["items"]
        assert "empty" in {reason["code"] for reason in held["reasons"]}

        dnsadmin.call("POST", f"held-snapshots/{held['id']}/accept/", {"reason": "the zone was moved away"})

        def all_missing() -> bool:
            rows = dnsadmin.fetch_all("record-sets/", provider="empty-dns")
            return len(rows) == 25 and all(row["missing_since"] for row in rows)

        wait_until(all_missing, "the accepted snapshot to be stored")


def test_a_held_snapshot_clears_when_the_provider_answers_normally_again(dnsadmin: RunningDnsadmin) -> None:
    with ReferenceProvider(make_zone("blue-cluster", 25)) as reference:
        values = {"name": "recovering-dns", "url": reference.url, "interval_seconds": 5}
        provider_id = dnsadmin.call("POST", "providers/", values)["id"]
        wait_until(lambda: _provider(dnsadmin, provider_id)["status"] == "ok", "the first sync")
        reference.faults.plan("GET /records", empty_list(), times=1)
        wait_until(lambda: _provider(dnsadmin, provider_id)["status"] == "held", "the hold")

        wait_until(lambda: _provider(dnsadmin, provider_id)["status"] == "ok", "the hold to clear")

        rows = dnsadmin.fetch_all("record-sets/", provider="recovering-dns")
        assert len(rows) == 25
        assert not any(row["missing_since"] for row in rows)
