"""A program moves a hundred record sets through the API, and the zones hold exactly that."""

from collections.abc import Callable
from typing import Any

from providers.wire.endpoint import Endpoint, EndpointKey
from tests.journeys.running import RunningDnsadmin
from tests.waiting import wait_until

Zone = dict[EndpointKey, Endpoint]


def _undo(dnsadmin: RunningDnsadmin, transfer_id: str) -> dict[str, Any]:
    count = dnsadmin.call("GET", f"transfers/{transfer_id}/")["item_count"]
    body = {
        "reason": "the exercise is over",
        "confirmation": "undo 1 record set" if count == 1 else f"undo {count} record sets",
    }
    undo = dnsadmin.request_undo(transfer_id, body)
    return dnsadmin.wait_for_end(undo["id"])


def _changed(before: Zone, after: Zone) -> set[EndpointKey]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _body(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "reason": "a journey", "target_intent": "same", **more}


def _run_and_undo(
    dnsadmin: RunningDnsadmin, provider: str, body: dict[str, Any], check: Callable[[Zone, Zone], None]
) -> None:
    """Run a transfer, let `check` compare the zones, undo it, and find the very bytes of before."""
    before, text_before = dnsadmin.zone(provider), dnsadmin.zone_text(provider)
    transfer = dnsadmin.request_reviewed(body)
    ended = dnsadmin.wait_for_end(transfer["id"])
    assert ended["status"] == "verified", (ended["status_reason"], dnsadmin.log("worker"))
    check(before, dnsadmin.zone(provider))

    undone = _undo(dnsadmin, transfer["id"])

    assert undone["status"] == "verified", undone["status_reason"]
    assert dnsadmin.call("GET", f"transfers/{transfer['id']}/")["status"] == "rolled_back"
    assert dnsadmin.zone_text(provider) == text_before
    findings = dnsadmin.fetch_all("findings/", provider=provider, state="open")
    accusing = {"changed_back", "deleted_after_transfer"}
    assert [row["explanation"] for row in findings if row["kind"] in accusing] == []


def test_a_hundred_record_sets_move_to_another_owner_and_back(dnsadmin: RunningDnsadmin) -> None:
    rows = dnsadmin.fetch_all("record-sets/", provider="public-dns", owner="blue-cluster", type="A")[:100]
    names = {row["name"] for row in rows}

    def check(before: Zone, after: Zone) -> None:
        assert len(names) == 100
        claims = {EndpointKey(f"a-{name}", "TXT", "") for name in names}
        # The AAAA record sets of the same owner at these names go along.
        others = {key.name for key in before if key.name in names and key.record_type == "AAAA"}
        claims |= {EndpointKey(f"aaaa-{name}", "TXT", "") for name in others}
        assert _changed(before, after) == claims
        for key in claims:
            (old,), (new,) = before[key].targets, after[key].targets
            assert new == old.replace("owner=blue-cluster", "owner=green-cluster")
            assert new != old

    selection = {"record_set_ids": [row["id"] for row in rows]}
    body = _body("transfer", selection=selection, target_owner="green-cluster")
    _run_and_undo(dnsadmin, "public-dns", body, check)


def test_the_mirror_shows_the_new_owner_once_the_transfer_is_verified(dnsadmin: RunningDnsadmin) -> None:
    name = "wiki.example.org"
    body = _body("transfer", selection={"names": [name]}, target_owner="green-cluster")

    transfer = dnsadmin.request_reviewed(body)
    dnsadmin.wait_for_end(transfer["id"])

    def owner() -> bool:
        (row,) = dnsadmin.call("GET", "record-sets/", name=name)["items"]
        return bool(row["owner"] == "green-cluster")

    wait_until(owner, "the mirror to show the new owner")
    assert _undo(dnsadmin, transfer["id"])["status"] == "verified"


def test_an_unmanaged_record_set_is_adopted_and_let_go(dnsadmin: RunningDnsadmin) -> None:
    def check(before: Zone, after: Zone) -> None:
        (key,) = _changed(before, after)
        assert key == EndpointKey("a-office.example.org", "TXT", "")
        assert after[key].targets == ('"heritage=external-dns,external-dns/owner=blue-cluster"',)

    body = _body("adopt", selection={"names": ["Office.Example.ORG."]}, target_owner="blue-cluster")
    _run_and_undo(dnsadmin, "public-dns", body, check)


def test_a_released_record_set_stays_and_loses_its_claim(dnsadmin: RunningDnsadmin) -> None:
    name = "pr-1201.preview.example.org"

    def check(before: Zone, after: Zone) -> None:
        assert _changed(before, after) == {EndpointKey(f"a-{name}", "TXT", "")}
        assert EndpointKey(f"a-{name}", "TXT", "") not in after
        assert after[EndpointKey(name, "A", "")] == before[EndpointKey(name, "A", "")]

    _run_and_undo(dnsadmin, "public-dns", _body("release", selection={"names": [name]}), check)


def test_a_legacy_claim_is_rewritten_in_the_new_format(dnsadmin: RunningDnsadmin) -> None:
    name = "wiki.it.shop.example.com"

    def check(before: Zone, after: Zone) -> None:
        legacy, new = EndpointKey(name, "TXT", ""), EndpointKey(f"a-{name}", "TXT", "")
        assert _changed(before, after) == {legacy, new}
        assert legacy not in after
        assert after[new].targets == before[legacy].targets

    _run_and_undo(dnsadmin, "legacy-dns", _body("reformat", selection={"names": [name]}), check)


def test_orphaned_claims_are_cleaned_up(dnsadmin: RunningDnsadmin) -> None:
    names = [f"campaign-{number:02}.promo.example.com" for number in range(40)]

    def check(before: Zone, after: Zone) -> None:
        assert _changed(before, after) == {EndpointKey(f"a-{name}", "TXT", "") for name in names}
        assert all(EndpointKey(f"a-{name}", "TXT", "") not in after for name in names)

    body = _body("clean_up", selection={"name_suffix": "promo.example.com"})
    _run_and_undo(dnsadmin, "legacy-dns", body, check)


def test_the_requester_cannot_approve_where_another_person_has_to(dnsadmin: RunningDnsadmin) -> None:
    name = "cache-01.ams.edge.example.net"
    body = _body("transfer", selection={"names": [name]}, target_owner="default")

    transfer = dnsadmin.request_reviewed(body)

    actions = dnsadmin.call("GET", f"transfers/{transfer['id']}/")["allowed_actions"]
    assert transfer["status"] == "requested"
    assert "approve" not in {action["action"] for action in actions}
    dnsadmin.call("POST", f"transfers/{transfer['id']}/cancel/", {"reason": "nobody else is here"})
    assert dnsadmin.call("GET", f"transfers/{transfer['id']}/")["status"] == "cancelled"
