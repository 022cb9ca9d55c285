"""An owner's instance is given the ConfigMap registry of its cluster: its claims go there, and come back."""

import json
from typing import Any

from tests.journeys.running import RunningDnsadmin
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.reference_server import ReferenceProvider, make_zone

BLUE, GREEN = "journey-blue", "journey-green"


def _rows(api: KubernetesApi, owner_id: str) -> dict[str, str]:
    """The owner of each record set in this owner's registry."""
    data: Any = api.read_object("configmaps", f"{owner_id}-storage")["data"]
    return {row["dnsname"]: row["owner"] for row in json.loads(data["records"])}


def _claims(zone: ReferenceProvider) -> list[str]:
    return [each.dns_name for each in zone.endpoints() if each.record_type == "TXT"]


def test_claims_move_from_the_zone_into_a_configmap_and_back(dnsadmin: RunningDnsadmin) -> None:
    with ReferenceProvider(make_zone(BLUE, 20)) as zone, KubernetesApi() as api:
        provider = dnsadmin.register_provider("clustered-dns", zone.url)
        dnsadmin.change(f"providers/{provider}/", {"max_transfer_percent": 100})
        cluster = {"name": "journey", "api_url": api.url, "token": api.token}
        cluster_id = dnsadmin.call("POST", "clusters/", cluster)["id"]
        place = {"cluster": "journey", "namespace": NAMESPACE, "providers": [provider]}
        profile = {"name": "journey-maps", "kind": "configmap", **place}
        profile_id = dnsadmin.call("POST", "registry-profiles/", profile)["id"]
        dnsadmin.call("POST", "owners/", {"owner_id": GREEN, "registry_profile": "journey-maps"})
        before = zone.zone_bytes()
        answers = [
            dnsadmin.call("POST", f"clusters/{cluster_id}/connection-tests/", {}),
            dnsadmin.call("POST", f"registry-profiles/{profile_id}/connection-tests/", {}),
        ]
        selection = {"owner": BLUE, "provider": provider}
        body = {"kind": "transfer", "selection": selection, "target_owner": GREEN, "reason": "a journey"}

        transfer = dnsadmin.request_reviewed({**body, "target_intent": "same"})
        ended = dnsadmin.wait_for_end(transfer["id"])
        moved = _claims(zone), _rows(api, GREEN)
        mirrored = dnsadmin.fetch_all("record-sets/", provider="clustered-dns", owner=GREEN)
        dnsadmin.undo(transfer["id"])
        dnsadmin.change(f"providers/{provider}/", {"is_enabled": False})

        assert [answer["is_ok"] for answer in answers] == [True, True]
        assert ended["status"] == "verified", ended["status_reason"]
        names = [f"app-{number:05}.example.org" for number in range(20)]
        assert moved == ([], dict.fromkeys(names, GREEN))
        assert sorted(row["name"] for row in mirrored) == names
        assert zone.zone_bytes() == before
        assert set(_rows(api, GREEN).values()) == {BLUE}
