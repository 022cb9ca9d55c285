"""Rows of a dynamodb registry as these tests want them, and the store that has them."""

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.dynamodb.api import DynamoDbApi
from providers.stores.dynamodb.key import AwsKey
from providers.stores.dynamodb.store import DynamoDbStore
from providers.wire.endpoint import Endpoint
from tests.reference_server import make_record
from tests.strict_dynamodb import KEY_ID, REGION, SECRET, TABLE, Item, StrictDynamoDb

LOOPBACK = AddressPolicy(allow_loopback=True)
PATIENT = Limits(seconds=20.0)
HASTY = Limits(seconds=0.5)
KEY = AwsKey(KEY_ID, SECRET)

BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/www"
GREEN = BLUE.replace("blue", "green")
WWW = make_record("www.example.org")


def make_store(
    url: str,
    *,
    limits: Limits = PATIENT,
    key: AwsKey = KEY,
    region: str = REGION,
    table: str = TABLE,
    policy: AddressPolicy = LOOPBACK,
    max_items: int = 10_000,
) -> DynamoDbStore:
    """A store that may connect to loopback."""
    return DynamoDbStore(DynamoDbApi(url, region, key, policy, limits), table, max_items=max_items)


def make_row(name: str = "www.example.org", owner_id: str = "blue-cluster", kind: str = "A") -> Item:
    """An item as ExternalDNS puts it."""
    labels = {"resource": {"S": "ingress/shop/www"}}
    return {"k": {"S": f"{name}#{kind}#"}, "o": {"S": owner_id}, "l": {"M": labels}}


def make_rows(count: int) -> list[Item]:
    """So many items of the blue cluster."""
    return [make_row(name_of(number)) for number in range(count)]


def make_changes(count: int, old: str | None = BLUE, new: str | None = GREEN) -> list[StoredClaimChange]:
    """The changes of the rows that `make_rows` makes."""
    return [StoredClaimChange(record_of(number), old, new) for number in range(count)]


def name_of(number: int) -> str:
    """The name of a made row."""
    return f"n{number:04}.example.org"


def record_of(number: int) -> Endpoint:
    """The record set of a made row."""
    return make_record(name_of(number))


def owner_in(service: StrictDynamoDb, key: str = "www.example.org#A#") -> str:
    """Who owns the row with this `k`."""
    owner_id: str = service.items()[key]["o"]["S"]
    return owner_id
