"""What DynamoDB refuses and moto does not: signatures that do not fit, and transactions it would not take."""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import msgspec
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from providers.servers.wsgi_application import Answer, Request

REGION: Final = "eu-central-1"
KEY_ID: Final = "AKIAEXAMPLEBLUE"
SECRET: Final = "blue-team-secret-access-key"
CONTENT_TYPE: Final = "application/x-amz-json-1.0"

_CODE_SPACE = "com.amazonaws.dynamodb.v20120810#"
_MOST_ACTIONS, _MOST_ITEM_BYTES, _MOST_TRANSACTION_BYTES = 100, 400 * 1024, 4 * 2**20
_LONGEST_SKEW = timedelta(minutes=5)
_SIGNED = {"host", "x-amz-date", "x-amz-target", "content-type"}

Item = Mapping[str, Any]


class FindItem(Protocol):
    """Who knows what stands at a key of a table; an empty item where nothing does."""

    def __call__(self, table: str, key: Item, /) -> Item: ...


class Refused(Exception):
    """The service refuses: status, name and message."""

    def __init__(self, name: str, message: str = "", *, status: int = 400, **members: object) -> None:
        super().__init__(name)
        body = {"__type": f"{_CODE_SPACE}{name}", "message": message, **members}
        self.answer = Answer(status, (("Content-Type", CONTENT_TYPE),), msgspec.json.encode(body))


def raise_if_not_signed(request: Request, *, session_token: str, skew: timedelta) -> None:
    """Refuse a request that the service would not believe; `skew` is how far its clock is before ours."""
    scope = read_authorization(request.headers.get("authorization", ""))
    if scope["key_id"] != KEY_ID or request.headers.get("x-amz-security-token", "") != session_token:
        raise Refused("UnrecognizedClientException", "The security token in the request is invalid.")
    if scope["region"] != REGION or scope["service"] != "dynamodb":
        told = f"Credential should be scoped to a valid region, not '{scope['region']}'."
        raise Refused("InvalidSignatureException", told)
    stamp = request.headers.get("x-amz-date", "")
    signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if abs(datetime.now(UTC) + skew - signed_at) > _LONGEST_SKEW:
        raise Refused("InvalidSignatureException", f"Signature expired: {stamp} is earlier than allowed")
    needed = _SIGNED | ({"x-amz-security-token"} if session_token else set())
    if not needed <= set(scope["signed"].split(";")):
        raise Refused("InvalidSignatureException", "Headers that must be signed are not.")
    if not hmac.compare_digest(compute_signature(request, scope["signed"], stamp), scope["signature"]):
        raise Refused("InvalidSignatureException", "The request signature we calculated does not match.")


def read_authorization(header: str) -> dict[str, str]:
    """The parts of a signature; Refused where it is none."""
    kind, _, rest = header.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
    scope = parts.get("Credential", "").split("/")
    if kind != "AWS4-HMAC-SHA256" or len(scope) != 5 or scope[4] != "aws4_request":
        raise Refused("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    return {
        "key_id": scope[0],
        "region": scope[2],
        "service": scope[3],
        "signed": parts["SignedHeaders"],
        "signature": parts["Signature"],
    }


def compute_signature(request: Request, signed: str, stamp: str) -> str:
    """What the signature must be for the method, path, headers and bytes that came."""
    headers = {name: request.headers.get(name, "") for name in signed.split(";")}
    url = f"http://{request.headers['host']}{request.path}"
    again = AWSRequest(method=request.method, url=url, data=request.body, headers=headers)
    again.context["timestamp"] = stamp
    auth = SigV4Auth(Credentials(KEY_ID, SECRET), "dynamodb", REGION)
    return auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)


def raise_if_untakable(actions: list[dict[str, Any]], find_item: FindItem) -> None:
    """Refuse a transaction that the service, or the rule that no row is written unseen, would not take."""
    if not 0 < len(actions) <= _MOST_ACTIONS:
        raise Refused("ValidationException", "Member must have length less than or equal to 100")
    keys: set[str] = set()
    total = 0
    for action in actions:
        ((kind, asked),) = action.items()
        item = asked["Item"] if kind == "Put" else asked["Key"]
        standing = {} if kind == "Put" else find_item(asked["TableName"], item)
        _raise_if_unconditional(kind, asked)
        keys.add(str(item.get("k")))
        size = size_of(_build_after(kind, asked, standing))
        total += max(size, size_of(standing))
        if size > _MOST_ITEM_BYTES:
            raise Refused("ValidationException", "Item size has exceeded the maximum allowed size")
    if len(keys) < len(actions):
        raise Refused(
            "ValidationException", "Transaction request cannot include multiple operations on one item"
        )
    if total > _MOST_TRANSACTION_BYTES:
        raise Refused("ValidationException", "The aggregate size of items in the transaction exceeds 4 MB")


def _raise_if_unconditional(kind: str, asked: dict[str, Any]) -> None:
    condition = asked.get("ConditionExpression", "")
    needed = ["attribute_not_exists(#k)"] if kind == "Put" else ["#o = :o", "#l"]
    if not all(each in condition for each in needed):
        raise Refused(
            "ValidationException", "A row is written without being compared, which nothing here may do"
        )
    used = f"{condition} {asked.get('UpdateExpression', '')} "
    names = [*asked.get("ExpressionAttributeNames", {}), *asked.get("ExpressionAttributeValues", {})]
    if not all(any(f"{name}{end}" in used for end in " ,)") for name in names):
        raise Refused(
            "ValidationException", "Value provided in ExpressionAttributeValues unused in expressions"
        )


def _build_after(kind: str, asked: dict[str, Any], standing: Item) -> Item:
    if kind == "Delete":
        return {}
    if kind == "Put":
        return dict(asked["Item"])
    values = asked["ExpressionAttributeValues"]
    return {**standing, "o": values[":new_o"], "l": values[":new_l"]}


def size_of(item: Item) -> int:
    """The size of an item as the service counts it: names and values in bytes, and some for each map."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def _size_of_value(value: Item) -> int:
    ((kind, content),) = value.items()
    if kind == "M":
        return 3 + size_of(content) + len(content)
    return len(str(content).encode())
