"""Make providers, profiles, clusters and owners of the sample servers."""

from typing import Any

from dnsadmin.samples.state import SampleServer, load_state
from dnsadmin.samples.zones import EDGE_PREFIX, SHOP_PREFIX
from registry_app.actor import SYSTEM
from registry_app.inventory.cluster import register_cluster
from registry_app.inventory.owner import change_owner, register_owner
from registry_app.inventory.provider import change_provider, register_provider
from registry_app.inventory.registry_profile import register_registry_profile
from registry_app.models import Cluster, InstancePolicy, Owner, Provider, RegistryProfile

_OWNERS: dict[str, dict[str, Any]] = {
    "blue-cluster": {"policy": InstancePolicy.SYNC, "name_patterns": ["example.org"]},
    "green-cluster": {"policy": InstancePolicy.UPSERT_ONLY, "name_patterns": ["preview.example.org"]},
    "edge-cluster": {"policy": InstancePolicy.SYNC, "name_patterns": ["example.net"]},
    "shop-cluster": {"policy": InstancePolicy.UNKNOWN, "name_patterns": ["fr.shop.example.com"]},
    "default": {"policy": InstancePolicy.UNKNOWN, "name_patterns": ["shop.example.com"]},
}


def register_samples() -> None:
    """Register what is missing; give moved servers their new address. Nothing else is touched."""
    state = load_state()
    if state is None:
        return
    for server in state["servers"]:
        _register_server(server)
    edge = {"prefix": EDGE_PREFIX, "encryption_key": state["edge_key"]}
    profiles = {
        "edge-cluster": _register_profile("edge", "edge-dns", edge),
        "shop-cluster": _register_profile("shop", "legacy-dns", {"prefix": SHOP_PREFIX}),
    }
    for owner_id, values in _OWNERS.items():
        _register_owner(owner_id, values, profiles.get(owner_id))


def _register_server(server: SampleServer) -> None:
    url = f"http://127.0.0.1:{server['port']}"
    provider = Provider.objects.filter(name=server["name"]).first()
    if provider is None:
        approval = (
            Provider.ApprovalPolicy.OTHER_PERSON
            if server["name"] == "edge-dns"
            else Provider.ApprovalPolicy.NONE
        )
        values = {
            "name": server["name"],
            "url": url,
            "description": server["description"],
            "interval_seconds": 30,
            "write_mode": Provider.WriteMode.ATOMIC,
            "approval_policy": approval,
        }
        register_provider(SYSTEM, values)
    elif provider.url != url:
        change_provider(SYSTEM, provider.pk, {"url": url})


def _register_profile(name: str, provider: str, values: dict[str, str]) -> RegistryProfile:
    profile = RegistryProfile.objects.filter(name=name).first()
    if profile is not None:
        return profile
    full = {"name": name, **values, "providers": Provider.objects.filter(name=provider)}
    return register_registry_profile(SYSTEM, full)


def _register_owner(owner_id: str, values: dict[str, Any], profile: RegistryProfile | None) -> None:
    owner = Owner.objects.filter(owner_id=owner_id).first()
    if owner is not None and owner.status != Owner.Status.DISCOVERED:
        return
    cluster = Cluster.objects.filter(name=owner_id).first()
    if cluster is None:
        cluster = register_cluster(SYSTEM, {"name": owner_id, "environment": "sample"})
    full = {**values, "status": Owner.Status.REGISTERED, "cluster": cluster, "registry_profile": profile}
    if owner is None:
        register_owner(SYSTEM, {"owner_id": owner_id, **full})
    else:
        change_owner(SYSTEM, owner.pk, full)
