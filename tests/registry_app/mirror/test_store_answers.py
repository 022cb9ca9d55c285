"""What registry stores say is told apart without understanding it, and only read where it is news."""

import json
from collections.abc import Iterator

import pytest

from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import CONFIGMAP_REGISTRY, ConfigMapStore
from providers.stores.crd_registry import CRD_REGISTRY, CrdStore
from providers.stores.dynamodb.store import DYNAMODB_REGISTRY
from providers.wire.endpoint import Endpoint
from registry_app.mirror.open_stores import OpenStore, StoreAnswer, fetch_answers, fetch_contents
from tests.faults import read_faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.providers.stores.dynamodb.rows import make_store
from tests.reference_server import make_record
from tests.registry_app.transfer.registries import heritage
from tests.registry_app.transfer.stored_registries import start_moto
from tests.strict_dynamodb import StrictDynamoDb, body, strict_dynamodb

BLUE, GREEN = "blue-cluster", "green-cluster"
WWW, API = make_record("www.example.org"), make_record("api.example.org")


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as api:
        yield api


def open_maps(api: KubernetesApi) -> OpenStore:
    return OpenStore("7", CONFIGMAP_REGISTRY, "maps", ConfigMapStore(api.client(), NAMESPACE, 100))


def put(api: KubernetesApi, record: Endpoint, owner: str = BLUE) -> None:
    text = f"heritage=external-dns,external-dns/owner={owner}"
    open_maps(api).store.write([StoredClaimChange(record, None, text)])


def answer(opened: OpenStore) -> StoreAnswer:
    (only,) = fetch_answers([opened])
    return only


def test_config_maps_are_told_apart_by_what_they_claim_and_not_by_their_versions(api: KubernetesApi) -> None:
    put(api, WWW)
    first = answer(open_maps(api)).digest
    touched = api.read_object("configmaps", f"{BLUE}-storage")
    metadata = touched["metadata"]
    assert isinstance(metadata, dict)
    api.put_object("configmaps", {**touched, "metadata": {**metadata, "labels": {"touched": "yes"}}})
    api.put_object(
        "configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}},
    )

    again = answer(open_maps(api)).digest
    put(api, API, GREEN)
    changed = answer(open_maps(api))

    assert first == again
    assert changed.digest != first
    assert [claim.key.name for claim in changed.read().claims] == ["www.example.org", "api.example.org"]


def test_config_maps_that_say_something_odd_have_a_digest_too(api: KubernetesApi) -> None:
    put(api, WWW)
    held = api.read_object("configmaps", f"{BLUE}-storage")
    rows = [{"dnsname": "www.example.org", "owner": BLUE, "type": "A", "target": "192.0.2.1", "x": 1}]
    data = held["data"]
    assert isinstance(data, dict)
    first = answer(open_maps(api)).digest
    api.put_object("configmaps", {**held, "data": {**data, "records": json.dumps(rows)}})

    odd = answer(open_maps(api))

    assert odd.digest != first
    assert odd.read().claims[0].problem


def open_objects(api: KubernetesApi) -> OpenStore:
    return OpenStore("9", CRD_REGISTRY, "objects", CrdStore(api.client(), NAMESPACE))


def test_objects_are_told_apart_by_what_they_claim_and_not_by_their_versions(api: KubernetesApi) -> None:
    store = open_objects(api).store
    for record in (WWW, API):
        store.write([StoredClaimChange(record, None, heritage(BLUE, record.dns_name))])
    first = answer(open_objects(api)).digest
    name = "www-example-org-dab90c7f"
    held = api.read_object("dnsrecords", name)
    api.put_object("dnsrecords", {**held, "status": {"conditions": []}})
    versions = {
        read_metadata(each, "resourceVersion") for each in (held, api.read_object("dnsrecords", name))
    }

    again = answer(open_objects(api)).digest
    store.write([StoredClaimChange(WWW, heritage(BLUE, WWW.dns_name), heritage(GREEN, WWW.dns_name))])
    given = answer(open_objects(api))
    metadata = held["metadata"]
    assert isinstance(metadata, dict)
    labels: KubernetesObject = {"externaldns.k8s.io/owner": GREEN}
    api.put_object("dnsrecords", {**held, "metadata": {**metadata, "labels": labels}})
    torn = answer(open_objects(api))
    api.delete_object("dnsrecords", name)
    gone = answer(open_objects(api))

    assert (first, len(versions)) == (again, 2)
    assert len({first, given.digest, torn.digest, gone.digest}) == 4
    assert [claim.problem != "" for claim in torn.read().claims] == [False, True]
    assert [claim.key.name for claim in gone.read().claims] == ["api.example.org"]


def test_an_object_that_nobody_can_read_is_told_apart_by_its_name(api: KubernetesApi) -> None:
    labels: KubernetesObject = {"externaldns.k8s.io/owner": BLUE}
    digests = []
    for name in ("first", "second"):
        api.put_object("dnsrecords", {"metadata": {"name": name, "labels": labels}, "spec": {}})
        digests.append(answer(open_objects(api)).digest)
        api.delete_object("dnsrecords", name)

    assert digests[0] != digests[1]


def test_an_object_that_says_something_odd_has_a_digest_too(api: KubernetesApi) -> None:
    open_objects(api).store.write([StoredClaimChange(WWW, None, heritage(BLUE, WWW.dns_name))])
    held = api.read_object("dnsrecords", "www-example-org-dab90c7f")
    endpoint = {**read_object(held, "spec", "endpoint"), "recordTTL": 9 * 10**19}
    listing = {"kind": "DNSRecordList", "items": [{**held, "spec": {"endpoint": endpoint}}]}
    api.faults.plan("list /dnsrecords", read_faults.body(json.dumps(listing).encode()), times=2)

    first, again = answer(open_objects(api)), answer(open_objects(api))

    assert first.digest == again.digest
    assert first.read().claims[0].problem


@pytest.fixture
def table() -> Iterator[StrictDynamoDb]:
    with strict_dynamodb(start_moto()) as service:
        service.create_table()
        yield service


def open_table(service: StrictDynamoDb) -> OpenStore:
    return OpenStore("8", DYNAMODB_REGISTRY, "table", make_store(service.url))


def row(name: str, owner: str = BLUE) -> dict[str, object]:
    return {"k": {"S": f"{name}#A#"}, "o": {"S": owner}, "l": {"M": {}}}


def test_items_are_told_apart_in_whatever_order_they_come(table: StrictDynamoDb) -> None:
    items = [row("www.example.org"), row("api.example.org")]
    digests = []
    for order in (items, items[::-1], [row("www.example.org", GREEN), items[1]]):
        table.faults.plan("POST /Scan", body(json.dumps({"Items": order, "Count": 2}).encode()))
        digests.append(answer(open_table(table)).digest)

    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@pytest.mark.parametrize("odd", [10**40, -(10**400), 1.5, None, [[[[]]]]])
def test_an_item_that_is_none_has_a_digest_too(table: StrictDynamoDb, odd: object) -> None:
    items = [row("www.example.org"), {**row("api.example.org"), "l": odd}]
    table.faults.plan("POST /Scan", body(json.dumps({"Items": items, "Count": 2}).encode()), times=2)

    first, again = fetch_contents([open_table(table)])[0], answer(open_table(table))

    assert first.digest == again.digest
    assert [claim.key.name for claim in first.claims] == ["www.example.org", "api.example.org"]
