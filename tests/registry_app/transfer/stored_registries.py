"""Registries beside DNS, each with a real server behind it."""

import atexit
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache

from providers.registries.kubernetes_object import read_metadata
from providers.registries.labels import OWNER, parse_labels
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from providers.stores.crd_registry import CrdStore
from providers.stores.dynamodb.item import format_key, read_items
from providers.stores.registry import RegistryStore
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.database_claims import DatabaseStore
from registry_app.models import Cluster, Provider, RegistryProfile
from tests import strict_dynamodb as dynamodb
from tests.faults import framing_faults, write_faults
from tests.faults.fault import Fault
from tests.kubernetes_api import faults as kubernetes_faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.registries import (
    AwsSdRegistry,
    Registry,
    TxtRegistry,
    by_key,
    heritage,
    make_profile,
)


def _nothing_odd() -> Fault:
    return write_faults.meanwhile(lambda: None)


class DynamoDbRegistry:
    """Claims in the items of a table."""

    kind = "dynamodb"
    # Its transactions are made whole or not at all, so nothing is ever made in part.
    _WRITES: Mapping[str, Callable[[], Fault]] = {
        "error": lambda: dynamodb.refusal("InternalServerError", status=500),
        "reset": framing_faults.reset,
        "applied then error": lambda: dynamodb.made_then("InternalServerError", status=500),
        "applied then reset": dynamodb.made_then_reset,
        "nothing": lambda: dynamodb.body(b"{}"),
    }
    _READS: Mapping[str, Callable[[], Fault]] = {
        "failing": lambda: dynamodb.refusal("ResourceNotFoundException"),
        "reset": framing_faults.reset,
        "closed": framing_faults.closed,
    }

    def __init__(self, service: dynamodb.StrictDynamoDb) -> None:
        self._service = service
        service.create_table()

    def profile(self, provider: Provider) -> RegistryProfile | None:
        return make_profile(
            self.kind,
            provider,
            table=dynamodb.TABLE,
            region=dynamodb.REGION,
            endpoint_url=self._service.url,
            access_key_id=dynamodb.KEY_ID,
            secret_access_key=dynamodb.SECRET,
        )

    def put(self, record: Endpoint, owner: str) -> None:
        self.put_all([record], owner)

    def put_all(self, records: Iterable[Endpoint], owner: str) -> None:
        """As `put`, for many at once."""
        self._service.put(*(_build_item(each, owner) for each in records))

    def remove(self, *records: Endpoint) -> None:
        """An instance gives up what it claimed."""
        self._service.delete(*map(format_key, records))

    def lose_all(self) -> None:
        """Somebody made the table anew."""
        self._service.delete(*self._service.items())

    def plan_read(self, fault: Fault) -> None:
        """Let the next reading of all claims meet this fault."""
        self._service.faults.plan("POST /Scan", fault)

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        return by_key(item.claim for item in read_items(self._service.items().values()))

    def plan_fault(self, kind: str, name: str) -> None:
        operation = {"write": "TransactWriteItems", "read": "Scan"}[kind]
        faults = self._WRITES if kind == "write" else self._READS
        self._service.faults.plan(f"POST /{operation}", faults.get(name, _nothing_odd)())

    def rewrite(self, record: Endpoint, owner: str) -> None:
        self.put(record, owner)

    def before_next_write(self, act: Callable[[], None]) -> None:
        self._service.faults.plan("POST /TransactWriteItems", write_faults.meanwhile(act))

    def watch(self, act: Callable[[], None]) -> None:
        self._service.watchers.append(act)

    def clear_faults(self) -> None:
        self._service.faults.clear()


def _build_item(record: Endpoint, owner: str) -> dynamodb.Item:
    labels = parse_labels(heritage(owner, record.dns_name)) or {}
    kept = {label: {"S": text} for label, text in labels.items() if label != OWNER}
    return {"k": {"S": format_key(record)}, "o": {"S": owner}, "l": {"M": kept}}


class KubernetesRegistry:
    """Claims in objects of a Kubernetes API."""

    kind: str
    _plural: str
    _writing: tuple[str, ...] = ("update",)
    _WRITES: Mapping[str, Callable[[], Fault]] = {
        "error": kubernetes_faults.error,
        "reset": framing_faults.reset,
        "applied then error": kubernetes_faults.applied_then_error,
        "applied then reset": kubernetes_faults.applied_then_reset,
        "nothing": lambda: kubernetes_faults.error(409, "Conflict", "the object has been modified"),
    }
    _READS: Mapping[str, Callable[[], Fault]] = {
        "failing": lambda: kubernetes_faults.error(503, "ServiceUnavailable", "etcd has no leader"),
        "reset": framing_faults.reset,
        "closed": framing_faults.closed,
    }

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._store = self._open_store()

    def _open_store(self) -> RegistryStore:
        raise NotImplementedError

    def profile(self, provider: Provider) -> RegistryProfile | None:
        defaults = {"api_url": self._api.url, "token": self._api.token}
        cluster, _ = Cluster.objects.update_or_create(name=f"{self.kind}-cluster", defaults=defaults)
        return make_profile(self.kind, provider, cluster=cluster, namespace=NAMESPACE)

    def put(self, record: Endpoint, owner: str) -> None:
        self._store.write([StoredClaimChange(record, None, heritage(owner, record.dns_name))])

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        return by_key(self._store.fetch_claims())

    def plan_fault(self, kind: str, name: str) -> None:
        faults = self._WRITES if kind == "write" else self._READS
        for verb in self._writing if kind == "write" else ("list",):
            self._api.faults.plan(f"{verb} /{self._plural}", faults.get(name, _nothing_odd)())

    def rewrite(self, record: Endpoint, owner: str) -> None:
        (old,) = self.claims()[endpoint_key(record)]
        self._store.write([StoredClaimChange(record, old, heritage(owner, record.dns_name))])

    def put_all(self, records: Iterable[Endpoint], owner: str) -> None:
        """As `put`, for many at once."""
        self._store.write([StoredClaimChange(each, None, heritage(owner, each.dns_name)) for each in records])

    def remove(self, *records: Endpoint) -> None:
        """The instances give up what they claimed."""
        claims = self.claims()
        olds = [(each, old) for each in records for old in claims[endpoint_key(each)]]
        self._store.write([StoredClaimChange(each, old, None) for each, old in olds])

    def lose_all(self) -> None:
        """Somebody made the namespace anew."""
        for obj in self._api.objects(self._plural):
            self._api.delete_object(self._plural, read_metadata(obj, "name"))

    def plan_read(self, fault: Fault) -> None:
        """Let the next reading of all claims meet this fault."""
        self._api.faults.plan(f"list /{self._plural}", fault)

    def watch(self, act: Callable[[], None]) -> None:
        self._api.watchers.append(act)

    def clear_faults(self) -> None:
        self._api.faults.clear()


class ConfigMapRegistry(KubernetesRegistry):
    """Claims in rows of ConfigMaps, one for each owner."""

    kind = "configmap"
    _plural = "configmaps"
    _writing = ("create", "update")

    def _open_store(self) -> RegistryStore:
        return ConfigMapStore(self._api.calm_client(), NAMESPACE, 1_000)

    def before_next_write(self, act: Callable[[], None]) -> None:
        # The new owner's map is written first, and does not know of the old one's.
        self._api.faults.plan("list /configmaps", write_faults.meanwhile(act), after=2)


class CrdRegistry(KubernetesRegistry):
    """Claims in DNSRecord objects."""

    kind = "crd"
    _plural = "dnsrecords"

    def _open_store(self) -> RegistryStore:
        return CrdStore(self._api.calm_client(), NAMESPACE)

    def before_next_write(self, act: Callable[[], None]) -> None:
        self._api.faults.plan("update /dnsrecords", write_faults.meanwhile(act))


class DatabaseRegistry:
    """Claims in rows of our own database: nothing is between it and us that may fail by itself."""

    kind = "database"

    def __init__(self) -> None:
        self._profile, _ = RegistryProfile.objects.get_or_create(name=self.kind, defaults={"kind": self.kind})
        self._store = DatabaseStore(self._profile.pk)

    def profile(self, provider: Provider) -> RegistryProfile | None:
        return make_profile(self.kind, provider)

    def put(self, record: Endpoint, owner: str) -> None:
        self.put_all([record], owner)

    def put_all(self, records: Iterable[Endpoint], owner: str) -> None:
        """As `put`, for many at once."""
        self._store.write([StoredClaimChange(each, None, heritage(owner, each.dns_name)) for each in records])

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        return by_key(self._store.fetch_claims())

    def plan_fault(self, kind: str, name: str) -> None:
        """There is none to plan."""

    def rewrite(self, record: Endpoint, owner: str) -> None:
        (old,) = self.claims()[endpoint_key(record)]
        self._store.write([StoredClaimChange(record, old, heritage(owner, record.dns_name))])

    def before_next_write(self, act: Callable[[], None]) -> None:
        raise NotImplementedError("Nobody writes beside whoever has the lease.")

    def watch(self, act: Callable[[], None]) -> None:
        """Its rows are looked at when the zone changes."""

    def clear_faults(self) -> None:
        """There are none."""


@cache
def start_moto() -> str:
    """moto's server for the rest of this process: it takes longer to stop than most tests take."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(dynamodb.moto_server())


@contextmanager
def open_registry(kind: str, reference: RecordingProvider) -> Iterator[Registry]:
    """A registry of this kind, with whatever it needs behind it."""
    with ExitStack() as stack:
        if kind == "txt":
            yield TxtRegistry(reference)
        elif kind == "aws-sd":
            yield AwsSdRegistry(reference)
        elif kind == "database":
            yield DatabaseRegistry()
        elif kind == "configmap":
            yield ConfigMapRegistry(stack.enter_context(KubernetesApi()))
        elif kind == "crd":
            yield CrdRegistry(stack.enter_context(KubernetesApi()))
        else:
            service = stack.enter_context(dynamodb.strict_dynamodb(start_moto()))
            yield DynamoDbRegistry(service)
