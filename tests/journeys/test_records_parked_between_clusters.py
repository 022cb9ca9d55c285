"""A cluster is rebuilt: dnsadmin keeps its record sets until the next one is there."""

from typing import Any

import msgspec

from providers.backends.zone_file import ZoneFileBackend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.journeys.running import RunningDnsadmin
from tests.waiting import wait_until

PROVIDER = "public-dns"
_TYPES = ("A", "AAAA")


def _move(dnsadmin: RunningDnsadmin, rows: list[dict[str, Any]], target: str) -> str:
    """A transfer of these record sets, approved by nobody's having to, to its verified end."""
    body: dict[str, Any] = {"kind": "transfer", "reason": "a journey", "target_intent": "same"}
    body |= {"selection": {"record_set_ids": [row["id"] for row in rows]}, "target_owner": target}
    ended = dnsadmin.wait_for_end(dnsadmin.request_reviewed(body)["id"])
    assert ended["status"] == "verified", ended["status_reason"]
    return str(ended["id"])


def _wait_for_run(dnsadmin: RunningDnsadmin, loop_id: int, status: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        runs = dnsadmin.call("GET", "loop-runs/", loop=str(loop_id), status=status)["items"]
        return dict(runs[0]) if runs else None

    return wait_until(look, f"a run of the loop that is {status}", seconds=60)


def _wait_for_mirror(dnsadmin: RunningDnsadmin, row: dict[str, Any]) -> None:
    def is_as_before() -> bool:
        (now,) = dnsadmin.call("GET", "record-sets/", provider=PROVIDER, name=row["name"], type="A")["items"]
        return bool(now["targets"] == row["targets"])

    wait_until(is_as_before, "the mirror to show what the loop repaired")


def _records(zone: dict[EndpointKey, Endpoint], names: list[str]) -> dict[EndpointKey, Endpoint]:
    return {key: each for key, each in zone.items() if key.name in names and key.record_type in _TYPES}


def test_records_go_to_dnsadmin_are_kept_by_its_loop_and_go_on(dnsadmin: RunningDnsadmin) -> None:
    last = dnsadmin.fetch_all("record-sets/", provider=PROVIDER, owner="blue-cluster", type="A")[-3:]
    names = [row["name"] for row in last]
    # A transfer moves whole names; what the loop does not declare of them it would delete.
    rows = [
        row
        for row in dnsadmin.fetch_all("record-sets/", provider=PROVIDER, owner="blue-cluster")
        if row["name"] in names and row["record_type"] in _TYPES
    ]
    before = _records(dnsadmin.zone(PROVIDER), names)
    owner = dnsadmin.call("POST", "owners/", {"owner_id": "parked"})
    loop = dnsadmin.call(
        "POST",
        "loops/",
        {"owner": "parked", "provider": PROVIDER, "is_enabled": False, "interval_seconds": 10},
    )
    address = f"loops/{loop['id']}/"

    parked = _move(dnsadmin, rows, "parked")
    for row in rows:
        values = {name: row[name] for name in ("name", "record_type", "targets", "ttl")}
        dnsadmin.call("POST", f"{address}endpoints/", values)
    dnsadmin.change(address, {"is_enabled": True})
    _wait_for_run(dnsadmin, loop["id"], "unchanged")
    old = before[EndpointKey(names[0], "A", "")]
    meddled = msgspec.structs.replace(old, targets=("203.0.113.9",))
    backend = ZoneFileBackend(dnsadmin.state_dir / "samples" / PROVIDER)
    backend.apply(ChangeSet(update_old=(old,), update_new=(meddled,)))
    repaired = _wait_for_run(dnsadmin, loop["id"], "verified")
    kept = _records(dnsadmin.zone(PROVIDER), names)
    dnsadmin.change(address, {"is_enabled": False})
    _wait_for_mirror(dnsadmin, last[0])
    moved_on = _move(dnsadmin, rows, "green-cluster")

    assert owner["owner_id"] == "parked"
    assert len(before) == len(rows) > 3
    assert (repaired["updated"], repaired["requested_by"]) == (1, "dnsadmin")
    assert kept == before
    assert _records(dnsadmin.zone(PROVIDER), names) == before
    for name in names:
        assert (
            "owner=green-cluster" in dnsadmin.zone(PROVIDER)[EndpointKey(f"a-{name}", "TXT", "")].targets[0]
        )
    dnsadmin.undo(moved_on)
    dnsadmin.undo(parked)
