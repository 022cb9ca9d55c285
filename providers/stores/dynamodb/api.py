"""DynamoDB's own API, as far as a registry needs it: a table described, scanned, and changed by transactions.

Spoken through our own bounded HTTP and not through boto3: its address is typed by people into a control
plane, and boto3's transport checks no address and bounds neither the size nor the whole time of an answer.
botocore signs.
"""

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as SigningCredentials

from providers.http.address_policy import AddressPolicy
from providers.http.answer import Answer
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS
from providers.http.errors import (
    AnswerTooLarge,
    InvalidAddress,
    MalformedAnswer,
    NotAProvider,
    ProviderError,
    Redirected,
    build_change_error,
    find_status_error,
    safe_excerpt,
)
from providers.http.exchange import Exchange
from providers.http.pause import compute_pause
from providers.stores.dynamodb.key import AwsKey, raise_if_no_region
from providers.stores.dynamodb.responses import (
    DescribeAnswer,
    DynamoDbRefusal,
    Request,
    ScanPage,
    TableDescription,
    Throttled,
    TransactAnswer,
    TransactionInProgress,
    explain_wrong_key,
    read_refusal,
)

_T = TypeVar("_T")
_SERVICE = "dynamodb"
_CONTENT_TYPE = "application/x-amz-json-1.0"
_TARGET = "DynamoDB_20120810"
# The service ends a page at 1 MB of data; its JSON is at most some six times as long.
_PAGE_BYTES = 16 * 2**20
_MOST_PAGES = 10_000
_MOST_SENDINGS = 5
_FIRST_PAUSE, _LONGEST_PAUSE, _SPREAD = 0.05, 2.0, (0.5, 1.0)

# At DEBUG it writes whatever it signs, the session token among it (I18).
logging.getLogger("botocore.auth").setLevel(logging.INFO)


@dataclass(frozen=True)
class Deadline:
    """When a whole operation, all its requests and pauses, has to be over."""

    ends_at: float

    def remaining(self) -> float:
        """The seconds left; none or fewer once it is over."""
        return self.ends_at - time.monotonic()


class DynamoDbApi:
    """The tables behind one endpoint. Holds settings and no connection, so threads may share it.

    `limits` are those of a whole operation: a scan with all its pages takes no more time and no more bytes.
    """

    def __init__(
        self, url: str, region: str, key: AwsKey, policy: AddressPolicy, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        raise_if_no_region(region)
        page = replace(limits, max_body_bytes=min(limits.max_body_bytes, _PAGE_BYTES))
        self._http = BoundedHttp(url, NO_CREDENTIALS, policy, page, peer="DynamoDB")
        if self._http.address.login or self._http.address.query:
            raise InvalidAddress(
                "The endpoint of DynamoDB takes neither a user name nor a query in its URL.",
                hint="Give the access key beside the address.",
            )
        self.region = region
        self.limits = limits
        self._key = key

    @property
    def origin(self) -> str:
        """Scheme, host and port of the endpoint."""
        return self._http.address.origin

    def begin(self) -> Deadline:
        """Start the clock of one operation."""
        return Deadline(time.monotonic() + self.limits.seconds)

    def fetch_table(self, table: str, deadline: Deadline) -> TableDescription:
        """Describe a table. Raises ProviderError."""
        body = self._read("DescribeTable", table, {"TableName": table}, deadline)
        return self._decode(body, DescribeAnswer).table

    def fetch_items(self, table: str, deadline: Deadline, *, max_items: int) -> list[object]:
        """All items of a table, each read consistently. Raises ProviderError.

        Bounded in items, bytes, pages and time: beyond any of them it is an error, never a shorter list.
        """
        items: list[object] = []
        question: dict[str, object] = {"TableName": table, "ConsistentRead": True}
        left, seen = self.limits.max_body_bytes, set[str]()
        for _ in range(_MOST_PAGES):
            body = self._read("Scan", table, question, deadline)
            page = self._decode(body, ScanPage)
            left -= len(body)
            items += page.items
            if left < 0 or len(items) > max_items:
                raise self._too_large(table)
            if page.count is not None and page.count != len(page.items):
                raise self._malformed("it counts other items than it shows")
            if not page.last_evaluated_key:
                return items
            mark = _read_mark(page.last_evaluated_key, table)
            if mark in seen:
                raise self._malformed("its pages go in a circle")
            seen.add(mark)
            question = {**question, "ExclusiveStartKey": {"k": {"S": mark}}}
        raise self._too_large(table)

    def transact(self, table: str, actions: Sequence[object], deadline: Deadline) -> None:
        """Make all actions or none. Raises NothingSent or OutcomeUnknown.

        A refusal in DynamoDB's own words is NothingSent, with the refusal as its `reason`: nothing was
        applied. A throttled request was not looked at, and is sent again, a few times. All sendings have one
        token: should a throttled one have been applied after all, or something in between deliver it twice,
        the service answers success for what is made and does not make it again. The token is a new one each
        time: one made from the content would get the same response, for ten minutes, of a change
        that was undone since.
        """
        question = {"TransactItems": list(actions), "ClientRequestToken": str(uuid.uuid4())}
        open_end = False
        for sending in range(1, _MOST_SENDINGS + 1):
            exchange = self._begin(deadline)
            try:
                self._decode(self._post("TransactWriteItems", table, question, exchange), TransactAnswer)
            except (Throttled, TransactionInProgress) as error:
                open_end = open_end or isinstance(error, TransactionInProgress)
                if sending == _MOST_SENDINGS or not _wait(sending, deadline):
                    raise build_change_error(error, was_sent=open_end) from error
            except ProviderError as error:
                is_refused = isinstance(error, DynamoDbRefusal)
                is_open = open_end or (exchange.began_sending and not is_refused)
                raise build_change_error(error, was_sent=is_open) from error
            else:
                return

    def _read(self, operation: str, table: str, question: Mapping[str, object], deadline: Deadline) -> bytes:
        """Ask for what changes nothing; throttling is waited out while there is time."""
        throttled = 0
        while True:
            try:
                return self._post(operation, table, question, self._begin(deadline))
            except Throttled:
                throttled += 1
                if not _wait(throttled, deadline):
                    raise

    def _begin(self, deadline: Deadline) -> Exchange:
        exchange = self._http.begin()
        exchange.shorten(deadline.remaining())
        return exchange

    def _post(self, operation: str, table: str, question: Mapping[str, object], exchange: Exchange) -> bytes:
        """Send one request, once: the body of a 200."""
        body, url = msgspec.json.encode(question), self._http.address.base_url
        request = Request(self.origin, operation, table, self.region, self._key.secrets())
        with self._http.send(exchange, "POST", url, self._sign(operation, url, body), body) as answer:
            if answer.status != 200:
                raise _read_error(answer, request)
            return answer.read_body().data

    def _sign(self, operation: str, url: str, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": _CONTENT_TYPE, "X-Amz-Target": f"{_TARGET}.{operation}"}
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        key = self._key
        credentials = SigningCredentials(key.access_key_id, key.secret_access_key, key.session_token or None)
        SigV4Auth(credentials, _SERVICE, self.region).add_auth(request)
        return {name: str(value) for name, value in request.headers.items()}

    def _decode(self, body: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            excerpt = safe_excerpt(str(error), self._key.secrets())
            raise NotAProvider(
                f"{self.origin} responds, but not as DynamoDB does. Nothing of it was used: {excerpt}",
                hint="Check the endpoint, and any proxy in between.",
            ) from error

    def _malformed(self, reason: str) -> MalformedAnswer:
        return MalformedAnswer(
            f"The response of {self.origin} was not used: {reason}.",
            hint="Check what listens there, and any proxy in between.",
        )

    def _too_large(self, table: str) -> AnswerTooLarge:
        return AnswerTooLarge(
            f"The table {table} at {self.origin} holds more than is allowed here, and was not used.",
            hint="Raise the limits of size and number of this provider if the table really holds that much.",
        )


def _read_mark(last_key: Mapping[str, Mapping[str, object]], table: str) -> str:
    """The `k` a page ended with. Raises WrongTable where that is not the whole key."""
    mark = last_key.get("k", {}).get("S")
    if len(last_key) != 1 or not isinstance(mark, str):
        raise explain_wrong_key(table)
    return mark


def _read_error(answer: Answer, request: Request) -> ProviderError:
    """The error for an answer that is no success, from its status and what of its body can be read."""
    status, origin = answer.status, request.origin
    if 300 <= status < 400:
        return Redirected(
            f"{origin} redirects to another address ({status}), which dnsadmin does not follow.",
            status=status,
            hint="Give the address of the endpoint itself.",
        )
    body = answer.read_body().data
    refusal = read_refusal(request, body) if 400 <= status < 500 else None
    if refusal is not None:
        return refusal
    excerpt = safe_excerpt(body.decode("utf-8", errors="replace"), request.secrets)
    message = f"{origin} answered {status}{f': {excerpt}' if excerpt else ''}"
    hint = "Check the endpoint: this is not how DynamoDB refuses a request."
    if status >= 500:
        hint = "The service failed: ask again later."
    return find_status_error(status)(message, status=status, hint=hint)


def _wait(failures: int, deadline: Deadline) -> bool:
    """Wait a little; False, at once, where there is no time left for it."""
    seconds = compute_pause(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=_SPREAD)
    if seconds >= deadline.remaining():
        return False
    time.sleep(seconds)
    return True
