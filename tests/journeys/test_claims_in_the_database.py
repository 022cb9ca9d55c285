"""A cluster leaves TXT records behind and comes back, while its ExternalDNS runs through the guard."""

from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.journeys.running import RunningDnsadmin
from tests.providers.planning.planned import wanted
from tests.reference_server import ReferenceProvider, make_claim, make_record
from tests.waiting import wait_until

OWNER = "journey-inside"
NAMES = [f"in-{number}.example.org" for number in range(12)]
ZONE = [each for name in NAMES for each in (make_record(name), make_claim(name, owner=OWNER))]


def _claims(zone: ReferenceProvider) -> dict[str, tuple[str, ...]]:
    return {each.dns_name: each.targets for each in zone.endpoints() if each.record_type == "TXT"}


def _reformat(dnsadmin: RunningDnsadmin, provider: int) -> None:
    body = {"kind": "reformat", "selection": {"owner": OWNER, "provider": provider}, "reason": "a journey"}
    ended = dnsadmin.wait_for_end(dnsadmin.request_reviewed(body)["id"])
    assert ended["status"] == "verified", ended["status_reason"]


def _wait_for_mirror(dnsadmin: RunningDnsadmin, provider: int) -> None:
    def is_changed() -> bool:
        rows = dnsadmin.call("GET", "record-sets/", provider=str(provider), name=NAMES[0], type="A")["items"]
        return [row["targets"] for row in rows] == [["192.0.2.77"]]

    dnsadmin.call("POST", f"providers/{provider}/syncs/", {})
    wait_until(is_changed, "the mirror to show what the instance changed", seconds=60)


def test_a_cluster_leaves_txt_behind_and_comes_back(dnsadmin: RunningDnsadmin) -> None:
    with ReferenceProvider(ZONE) as zone:
        provider = dnsadmin.register_provider("guarded-dns", zone.url)
        dnsadmin.change(f"providers/{provider}/", {"max_transfer_percent": 100})
        dnsadmin.call("POST", "owners/", {"owner_id": OWNER})
        instance = dnsadmin.call("POST", "instances/", {"owner": OWNER, "name": "journey"})["id"]
        guarded = {"slug": "journey", "provider": provider, "instance": instance}
        endpoint = dnsadmin.call("POST", "guard-endpoints/", guarded)["id"]
        dnsadmin.call("POST", f"guard-endpoints/{endpoint}/mode/", {"mode": "enforce"})
        profile = {"name": "journey-rows", "kind": "database", "providers": [provider]}
        profile_id = dnsadmin.call("POST", "registry-profiles/", profile)["id"]
        before = _claims(zone)

        with Instance(Settings(f"{dnsadmin.guard_url}/journey", OWNER), map(wanted, NAMES)) as running:
            outcomes = [running.run_once().outcome]
            dnsadmin.change(f"instances/{instance}/", {"registry_profile": "journey-rows"})
            outcomes.append(running.run_once().outcome)
            _reformat(dnsadmin, provider)
            inside = _claims(zone)
            outcomes.append(running.run_once().outcome)
            report = dnsadmin.call("POST", f"registry-profiles/{profile_id}/connection-tests/", {})
            running.desired = [wanted(NAMES[0], targets=["192.0.2.77"]), *map(wanted, NAMES[1:])]
            changed = [running.run_once().outcome for _ in range(2)]
            _wait_for_mirror(dnsadmin, provider)
            dnsadmin.change(f"instances/{instance}/", {"registry_profile": None})
            _reformat(dnsadmin, provider)
            outcomes.append(running.run_once().outcome)
        dnsadmin.change(f"providers/{provider}/", {"is_enabled": False})

        assert outcomes == [Outcome.QUIET] * 4
        assert changed == [Outcome.CHANGED, Outcome.QUIET]
        assert (inside, report["claim_count"]) == ({}, len(NAMES))
        assert _claims(zone) == before
        assert len(zone.endpoints()) == len(ZONE)
