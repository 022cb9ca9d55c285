"""DynamoDB in the tests: moto's server, behind a layer that refuses what moto is lax about.

moto believes any signature, forgets the token of a transaction, knows no size of an item and takes writes
without a condition. The layer checks the signature as the service does, from the bytes that came; it shows
nothing at all to a scan that is not consistent, which is the least such a scan may show; it holds back one
page after the other, and fails on demand.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from providers.servers.wsgi_application import Answer, Request, WsgiApplication
from tests.dynamodb_rules import (
    CONTENT_TYPE,
    KEY_ID,
    REGION,
    SECRET,
    Item,
    Refused,
    raise_if_not_signed,
    raise_if_untakable,
)
from tests.faults.fault import Fault, FaultPlan
from tests.faults.framing_faults import reset_connection
from tests.faults.history import History
from tests.moto_server import empty_moto, find_moto_url, open_client, pass_on
from tests.servers.exchange import Exchange
from tests.servers.http_server import HttpServer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.literals import ScalarAttributeTypeType
    from mypy_boto3_dynamodb.type_defs import KeySchemaElementTypeDef

__all__ = [
    "KEY_ID",
    "REGION",
    "SECRET",
    "TABLE",
    "TOKEN",
    "Item",
    "OperationFaults",
    "StrictDynamoDb",
    "body",
    "made_then",
    "made_then_reset",
    "moto_server",
    "operation_of",
    "refusal",
    "strict_dynamodb",
]

TOKEN: Final = "blue-team-session-token"
TABLE: Final = "external-dns"

_TARGET = "DynamoDB_20120810."
_OPERATIONS = ("DescribeTable", "Scan", "TransactWriteItems")
_MOST_TOKEN_CHARACTERS = 36
_MOST_IN_A_BATCH = 25


class OperationFaults(FaultPlan):
    """Faults planned by operation, `POST /Scan`: every request goes to the same path."""

    def intercept(self, exchange: Exchange) -> bool:
        fault = self._next(f"POST /{operation_of(exchange.request.headers)}")
        if fault is not None:
            fault.play(exchange, self)
        return fault is not None


@dataclass
class StrictDynamoDb:
    """The service. `page_items` are on a page of a scan; `skew` is how far its clock is before ours;
    `denied` operations are not allowed; `watchers` are called after each transaction that was made."""

    moto_url: str
    url: str = ""
    page_items: int | None = None
    skew: timedelta = timedelta()
    denied: set[str] = field(default_factory=set)
    session_token: str = ""
    faults: OperationFaults = field(default_factory=OperationFaults)
    history: History = field(default_factory=History)
    watchers: list[Callable[[], None]] = field(default_factory=list)
    _made: dict[str, tuple[Any, Answer]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def client(self) -> "DynamoDBClient":
        """A client of moto itself, for what the tests prepare and look at."""
        client: DynamoDBClient = open_client(
            "dynamodb", self.moto_url, region=REGION, key_id=KEY_ID, secret=SECRET
        )
        return client

    def create_table(
        self, name: str = TABLE, *, key: tuple[str, ...] = ("k",), key_type: "ScalarAttributeTypeType" = "S"
    ) -> None:
        """A new, empty table: a partition key, and a sort key if there are two."""
        schema: list[KeySchemaElementTypeDef] = [{"AttributeName": key[0], "KeyType": "HASH"}]
        schema += [{"AttributeName": each, "KeyType": "RANGE"} for each in key[1:]]
        self.client.create_table(
            TableName=name,
            KeySchema=schema,
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": key_type} for each in key],
            BillingMode="PAY_PER_REQUEST",
        )

    def put(self, *items: Item, table: str = TABLE) -> None:
        """Put items as another writer does, whatever stands there."""
        for start in range(0, len(items), _MOST_IN_A_BATCH):
            batch = items[start : start + _MOST_IN_A_BATCH]
            self.client.batch_write_item(
                RequestItems={table: [{"PutRequest": {"Item": each}} for each in batch]}
            )

    def delete(self, *stored_keys: str) -> None:
        """Delete items as another writer does."""
        for start in range(0, len(stored_keys), _MOST_IN_A_BATCH):
            batch = stored_keys[start : start + _MOST_IN_A_BATCH]
            self.client.batch_write_item(
                RequestItems={TABLE: [{"DeleteRequest": {"Key": {"k": {"S": each}}}} for each in batch]}
            )

    def items(self, table: str = TABLE) -> dict[str, Item]:
        """All items that stand now, by their `k`."""
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return {item["k"]["S"]: item for page in pages for item in page["Items"]}

    def asked(self, operation: str) -> list[dict[str, Any]]:
        """The bodies of all requests for this operation."""
        return [
            msgspec.json.decode(each.body)
            for each in self.history.requests()
            if operation_of(each.headers) == operation
        ]

    def answer(self, request: Request) -> Answer:
        """The service's answer to a request that met no fault."""
        try:
            raise_if_not_signed(request, session_token=self.session_token, skew=self.skew)
            operation = operation_of(request.headers)
            if operation not in _OPERATIONS or operation in self.denied:
                raise Refused("AccessDeniedException", f"User is not authorized to perform: {operation}")
            body = msgspec.json.decode(request.body)
            if operation == "TransactWriteItems":
                with self._lock:
                    return self._transact(request, body)
            return self._scan(request, body) if operation == "Scan" else self._pass_on(request, body)
        except Refused as refused:
            return refused.answer

    def _scan(self, request: Request, body: dict[str, Any]) -> Answer:
        if body.get("ConsistentRead") is not True:
            return Answer(200, (), b'{"Items":[],"Count":0,"ScannedCount":0}')
        return self._pass_on(request, {**body, "Limit": self.page_items} if self.page_items else body)

    def _transact(self, request: Request, body: dict[str, Any]) -> Answer:
        token = body.get("ClientRequestToken", "")
        if not 0 < len(token) <= _MOST_TOKEN_CHARACTERS:
            raise Refused("ValidationException", "ClientRequestToken must have 1 to 36 characters")
        if token in self._made:
            asked, answer = self._made[token]
            if asked != body:
                raise Refused(
                    "IdempotentParameterMismatchException", "The token was used for another request"
                )
            return answer
        raise_if_untakable(body["TransactItems"], self._find_item)
        answer = self._pass_on(request, body)
        if answer.status == 200:
            self._made[token] = body, answer
            for watch in self.watchers:
                watch()
        return answer

    def _find_item(self, table: str, key: Item) -> Item:
        return self.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item", {})

    def _pass_on(self, request: Request, body: dict[str, Any]) -> Answer:
        headers = {name: request.headers[name] for name in ("content-type", "x-amz-target", "authorization")}
        passed = pass_on(self.moto_url, msgspec.json.encode(body), headers)
        return Answer(passed.status_code, (("Content-Type", CONTENT_TYPE),), passed.content)


def operation_of(headers: Mapping[str, str]) -> str:
    """The operation a request is for."""
    return headers.get("x-amz-target", "").removeprefix(_TARGET)


def refusal(name: str, message: str = "", *, status: int = 400, **members: object) -> Fault:
    """The service refuses with this name, and nothing was applied."""
    answer = Refused(name, message, status=status, **members).answer
    return Fault(f"refusal {name}", lambda exchange, _plan: exchange.send(answer))


def body(content: bytes, *, status: int = 200) -> Fault:
    """Just these bytes, as if they were the service's."""
    answer = Answer(status, (("Content-Type", CONTENT_TYPE),), content)
    return Fault("body", lambda exchange, _plan: exchange.send(answer))


def made_then_reset() -> Fault:
    """Everything was made, and the connection is reset."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        _make(exchange)
        reset_connection(exchange)

    return Fault("made then reset", play)


def made_then(name: str, *, status: int = 400) -> Fault:
    """Everything was made, and the answer says something else."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        _make(exchange)
        exchange.send(Refused(name, "It was made all the same.", status=status).answer)

    return Fault(f"made then {name}", play)


def _make(exchange: Exchange) -> None:
    answer = exchange.answer()
    if answer.status != 200:
        raise RuntimeError(
            f"The service refused what the fault makes: {answer.body.decode('utf-8', 'replace')}"
        )


@contextmanager
def moto_server() -> Iterator[str]:
    """moto's server, for many services one after the other."""
    yield find_moto_url()


class _Application(WsgiApplication):
    def __init__(self, service: StrictDynamoDb) -> None:
        super().__init__()
        self._service = service

    def answer(self, request: Request) -> Answer:
        return self._service.answer(request)


@contextmanager
def strict_dynamodb(moto_url: str) -> Iterator[StrictDynamoDb]:
    """The service on loopback, without any table."""
    empty_moto(moto_url)
    service = StrictDynamoDb(moto_url)
    server = HttpServer(_Application(service), observers=(service.history,), faults=service.faults)
    server.start()
    service.url = server.url
    try:
        yield service
    finally:
        server.stop()
