"""ConfigMap registries of the cast, in a strict Kubernetes API."""

import json
from collections.abc import Callable, Iterable

from providers.registries.kubernetes_object import KubernetesObject, read_texts
from providers.registries.stored_claim import StoredClaimChange
from providers.servers.wsgi_application import Answer
from providers.stores.configmap_registry import ConfigMapStore
from providers.wire.endpoint import Endpoint
from tests.faults.fault import Fault, FaultPlan
from tests.faults.framing_faults import reset_connection
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.kubernetes_api.status import JSON_HEADERS
from tests.reference_server import make_record
from tests.servers.exchange import Exchange

BLUE, GREEN = "blue-cluster", "green-cluster"


def make_store(api: KubernetesApi) -> ConfigMapStore:
    return ConfigMapStore(api.client(), NAMESPACE, max_items=100_000)


def make_text(owner: str, resource: str = "") -> str:
    text = f"heritage=external-dns,external-dns/owner={owner}"
    return f"{text},external-dns/resource={resource}" if resource else text


def make_row(name: str, owner: str, target: str = "192.0.2.1", kind: str = "A") -> dict[str, object]:
    """A row as the registry proposal has it."""
    return {"dnsname": name, "owner": owner, "target": target, "type": kind}


def make_map(name: str, rows: Iterable[object], **data: str) -> KubernetesObject:
    """A ConfigMap as the registry proposal has it, its rows indented as a person writes them."""
    return {"metadata": {"name": name}, "data": {"records": json.dumps(list(rows), indent=4), **data}}


def make_owned(owner: str, *names: str) -> KubernetesObject:
    """An owner's map in which it owns these names."""
    return make_map(f"{owner}-storage", [make_row(name, owner) for name in names])


def adopt(name: str, owner: str, resource: str = "") -> StoredClaimChange:
    return StoredClaimChange(make_record(name), None, make_text(owner, resource))


def move(name: str, old: str, new: str, resource: str = "") -> StoredClaimChange:
    return StoredClaimChange(make_record(name), make_text(old, resource), make_text(new, resource))


def release(name: str, owner: str, resource: str = "") -> StoredClaimChange:
    return StoredClaimChange(make_record(name), make_text(owner, resource), None)


def make_bulky(count: int, size: int = 50_000) -> list[tuple[Endpoint, str]]:
    """Record sets, each with a resource label so long that 18 of them fill a shard."""
    return [(make_record(f"n{number:04d}.example.org"), f"{number}/" + "x" * size) for number in range(count)]


def adopt_bulky(owner: str, count: int) -> list[StoredClaimChange]:
    return [StoredClaimChange(record, None, make_text(owner, label)) for record, label in make_bulky(count)]


def writes_to(api: KubernetesApi) -> list[str]:
    """The writes so far, as `METHOD name`; a map that is made has no name in its request."""
    requests = [each for each in api.history.requests() if each.method != "GET"]
    names = [each.path.partition("/configmaps")[2].removeprefix("/") for each in requests]
    return [f"{each.method} {name}".strip() for each, name in zip(requests, names, strict=True)]


def read_data(api: KubernetesApi, name: str) -> dict[str, str]:
    return read_texts(api.read_object("configmaps", name), "data")


def read_rows(api: KubernetesApi, name: str, key: str = "records") -> list[dict[str, object]]:
    """What an old reader, which knows nothing but JSON, finds in a map."""
    rows: list[dict[str, object]] = json.loads(read_data(api, name).get(key, "[]"))
    return rows


def owners_of(store: ConfigMapStore) -> dict[str, set[str]]:
    """Who claims each name now, as far as it can be believed."""
    owners: dict[str, set[str]] = {}
    for claim in store.fetch_claims():
        if not claim.problem:
            owners.setdefault(claim.key.name, set()).add(claim.text.partition("owner=")[2].partition(",")[0])
    return owners


class WriteCounter:
    """Follows the writes of an API, and fails, or lets somebody act, at one of them.

    A worker that dies between two requests looks to the API like a connection that breaks.
    """

    def __init__(self, api: KubernetesApi) -> None:
        self._break_at: int | None = None
        self._acts: dict[int, Callable[[], None]] = {}
        self.seen = 0
        for route in ("create /configmaps", "update /configmaps", "delete /configmaps"):
            api.faults.plan(route, Fault("counted", self._play), times=None)

    def break_at(self, number: int) -> None:
        """From the write of this number on (from 1) nothing is followed any more."""
        self._break_at = self.seen + number

    def let_act_at(self, number: int, act: Callable[[], None]) -> None:
        """Let somebody else act when the write of this number has come, before it is followed."""
        self._acts[self.seen + number] = act

    def stop(self) -> None:
        """Follow every write again."""
        self._break_at = None

    def _play(self, exchange: Exchange, _plan: FaultPlan) -> None:
        self.seen += 1
        if self._break_at is not None and self.seen >= self._break_at:
            reset_connection(exchange)
            return
        act = self._acts.pop(self.seen, None)
        if act is not None:
            act()
        exchange.send(exchange.answer())


def echo_without_writing() -> Fault:
    """Something in between answers success, with what it was sent, and a version as if it were written."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        obj = json.loads(exchange.request.body)
        obj["metadata"]["resourceVersion"] = "99999"
        exchange.send(Answer(200, JSON_HEADERS, json.dumps(obj).encode()))

    return Fault("echo without writing", play)
