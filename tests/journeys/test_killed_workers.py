"""A worker killed with -9 in the middle of a transfer, and the transfer still ends verified."""

from pathlib import Path

import pytest

from providers.wire.endpoint import EndpointKey
from tests.journeys.running import running_dnsadmin


@pytest.mark.parametrize("crash_at", ["transfer.write_stored", "transfer.write_sent"])
def test_the_next_worker_ends_what_a_killed_one_began(tmp_path: Path, crash_at: str) -> None:
    settings = {
        "DNSADMIN_CRASH_AT": crash_at,
        "DNSADMIN_CRASH_ONCE": str(tmp_path / "crashed"),
        "DNSADMIN_LEASE_SECONDS": "4",
    }
    with running_dnsadmin(tmp_path / "state", settings, is_migrated=True) as dnsadmin:
        # A lease lasts as long as a request may; a look waits as long as a slow provider may take.
        limits = {"deadline_seconds": 3, "read_back_seconds": 2}
        dnsadmin.change(f"providers/{dnsadmin.provider_id('public-dns')}/", limits)
        before = dnsadmin.zone("public-dns")
        names = [f"pr-{number}.preview.example.org" for number in range(1201, 1221)]
        body = {
            "kind": "transfer",
            "reason": "a journey",
            "selection": {"names": names},
            "target_owner": "blue-cluster",
            "target_intent": "same",
        }

        requested = dnsadmin.request_reviewed(body)
        ended = dnsadmin.wait_for_end(requested["id"], seconds=90)

        after = dnsadmin.zone("public-dns")
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert (tmp_path / "crashed").exists()
        assert ended["status"] == "verified", (ended["status_reason"], dnsadmin.log("worker"))
        assert changed == {EndpointKey(f"a-{name}", "TXT", "") for name in names}
        assert dnsadmin.call("GET", f"transfers/{requested['id']}/")["progress"]["verified"] == 20
