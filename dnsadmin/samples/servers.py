"""The sample servers: their zone files in the state folder, their ports, and what is registered for them."""

import base64
import json
import secrets
import socket
from pathlib import Path
from typing import Any, TypedDict

from dnsadmin.env import STATE_DIR, fetch_port
from dnsadmin.free_port import find_free_port
from dnsadmin.samples.zones import EDGE_PREFIX, SHOP_PREFIX, SampleZone, build_sample_zones
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from registry_app.actor import SYSTEM
from registry_app.inventory.cluster import register_cluster
from registry_app.inventory.owner import change_owner, register_owner
from registry_app.inventory.provider import change_provider, register_provider
from registry_app.inventory.registry_profile import register_registry_profile
from registry_app.models import Cluster, InstancePolicy, Owner, Provider, RegistryProfile

FOLDER = STATE_DIR / "samples"

_OWNERS: dict[str, dict[str, Any]] = {
    "blue-cluster": {"policy": InstancePolicy.SYNC, "name_patterns": ["example.org"]},
    "green-cluster": {"policy": InstancePolicy.UPSERT_ONLY, "name_patterns": ["preview.example.org"]},
    "edge-cluster": {"policy": InstancePolicy.SYNC, "name_patterns": ["example.net"]},
    "shop-cluster": {"policy": InstancePolicy.UNKNOWN, "name_patterns": ["fr.shop.example.com"]},
    "default": {"policy": InstancePolicy.UNKNOWN, "name_patterns": ["shop.example.com"]},
}


class SamplesLost(Exception):
    """What must stay the same from start to start of the sample providers is not there any more."""


class SampleServer(TypedDict):
    """One server to start: `path` is the folder of its zone file."""

    name: str
    description: str
    path: str
    port: int


class SampleState(TypedDict):
    """What must stay the same from start to start."""

    edge_key: str
    servers: list[SampleServer]


def prepare_samples() -> list[SampleServer]:
    """The servers to start: none if other providers are registered; new zone files at the first call."""
    state = load_state()
    if state is None:
        if Provider.objects.exists():
            return []
        state = _create_samples()
    for server in state["servers"]:
        while not _is_free(server["port"]):
            server["port"] = find_free_port()
    _store_state(state)
    return state["servers"]


def load_state() -> SampleState | None:
    """The stored state, None before the first call of `prepare_samples`."""
    path = FOLDER / "state.json"
    try:
        loaded: SampleState = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SamplesLost(
            f"{path} cannot be read any more: where the sample providers listen is lost. The zones "
            f"and everything registered were not changed. Remove {FOLDER} and delete the three sample "
            "providers to have new ones, or start without them: SAMPLE=0 make run."
        ) from error
    return loaded


def _store_state(state: SampleState) -> None:
    path = FOLDER / "state.json"
    temporary = path.with_suffix(".new")
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def _create_samples() -> SampleState:
    key = secrets.token_bytes(32)
    servers: list[SampleServer] = []
    for zone in build_sample_zones(key):
        folder = FOLDER / zone.provider
        _write_zone(folder, zone)
        servers.append(
            {
                "name": zone.provider,
                "description": zone.description,
                "path": str(folder),
                "port": find_free_port(),
            }
        )
    return {"edge_key": base64.b64encode(key).decode(), "servers": servers}


def _write_zone(folder: Path, zone: SampleZone) -> None:
    """Write an empty zone, then fill it the way a provider would be filled. Starting over is safe: a crash
    half-way left no state file, so nothing refers to what was written."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_new_zone(folder / f"{zone.domain}.zone", zone.domain)
    ZoneFileBackend(folder).apply(ChangeSet(create=zone.endpoints))


def _is_free(port: int) -> bool:
    if port == fetch_port("PORT"):
        return False  # free only because the samples start before the web role does
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


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
