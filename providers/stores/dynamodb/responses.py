"""What DynamoDB responds: tables, pages of items, and refusals, which become errors in our words."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

import msgspec

from providers.http.errors import NothingSent, ProviderError, safe_excerpt

PERMISSIONS: Final = (
    "dynamodb:DescribeTable",
    "dynamodb:Scan",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
)

_THROTTLED = {
    "ProvisionedThroughputExceededException",
    "ProvisionedThroughputExceeded",
    "ThrottlingException",
    "ThrottlingError",
    "RequestLimitExceeded",
    "TransactionConflict",
    "TransactionConflictException",
}
_KEY_UNKNOWN = {
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "MissingAuthenticationTokenException",
    "MissingAuthenticationToken",
    "IncompleteSignatureException",
}
_KEY_EXPIRED = {"ExpiredTokenException", "ExpiredToken"}
_SIGNATURE_REFUSED = {"InvalidSignatureException", "SignatureDoesNotMatch"}
_CLOCK_SKEWED = {"RequestExpired", "RequestTimeTooSkewed"}
_MET = {"", "None"}


class KeyElement(msgspec.Struct, frozen=True, rename="pascal"):
    """One attribute of a table's primary key."""

    attribute_name: str
    key_type: str


class AttributeDefinition(msgspec.Struct, frozen=True, rename="pascal"):
    """The type of an attribute that a key is made of."""

    attribute_name: str
    attribute_type: str


class TableDescription(msgspec.Struct, frozen=True, rename="pascal"):
    """A table as the service describes it."""

    table_status: str
    key_schema: tuple[KeyElement, ...]
    attribute_definitions: tuple[AttributeDefinition, ...]


class DescribeAnswer(msgspec.Struct, frozen=True, rename="pascal"):
    """The answer to DescribeTable."""

    table: TableDescription


class ScanPage(msgspec.Struct, frozen=True, rename="pascal"):
    """One page of a Scan; the last one has no `last_evaluated_key`."""

    # No default: an answer without items is not an empty table.
    items: list[object]
    count: int | None = None
    last_evaluated_key: dict[str, dict[str, object]] | None = None


class TransactAnswer(msgspec.Struct, frozen=True):
    """The answer to TransactWriteItems: an object, and nothing in it matters."""


class Request(msgspec.Struct, frozen=True):
    """What was asked, for an error that names it. `secrets` are never shown."""

    origin: str
    operation: str
    table: str
    region: str
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Request({self.operation} {self.table} at {self.origin})"


class CancellationReason(msgspec.Struct, frozen=True, rename="pascal"):
    """Why one action of a transaction did not fit; `code` is `None`, the text, where it did. `item` is the
    row as it is, where there is one."""

    code: str = ""
    message: str | None = None
    item: dict[str, object] | None = None


class DynamoDbRefusal(ProviderError):
    """The service understood the request and refused it: nothing of it was applied. `name` is its word."""

    code: ClassVar[str] = "refused_by_dynamodb"

    def __init__(
        self, message: str, *, name: str = "", reasons: tuple[CancellationReason, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.name = name
        self.reasons = reasons


class Throttled(DynamoDbRefusal):
    """More was asked than the table or the account takes now, or another transaction has the rows."""

    code = "throttled_by_dynamodb"


class TransactionInProgress(ProviderError):
    """The same transaction, sent before, is still being made. How it ends is not known yet."""

    code = "transaction_in_progress"


class TransactionCancelled(DynamoDbRefusal):
    """A condition did not hold, and so none of the actions was made; `reasons` has one for each of them."""

    code = "transaction_cancelled"


class WrongTable(DynamoDbRefusal):
    """The table is not one that ExternalDNS's dynamodb registry can use."""

    code = "wrong_table"


class RowConflict(NothingSent):
    """A row is not as it was when the change was made up: another writer was first. Nothing was changed."""

    code = "row_conflict"


class _ErrorBody(msgspec.Struct, frozen=True):
    type_name: str = msgspec.field(name="__type")
    message: str | None = None
    also_message: str | None = msgspec.field(default=None, name="Message")
    reasons: tuple[CancellationReason, ...] | None = msgspec.field(default=None, name="CancellationReasons")


def read_refusal(request: Request, body: bytes) -> ProviderError | None:
    """The error for the body of a 4xx answer; None where it is not one of DynamoDB's."""
    try:
        error = msgspec.json.decode(body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    name = safe_excerpt(error.type_name.rpartition("#")[2], request.secrets)
    excerpt = safe_excerpt(error.message or error.also_message or "", request.secrets)
    if not name:
        return None
    if name == "TransactionCanceledException":
        return _explain_cancelled(request, tuple(error.reasons or ()), excerpt)
    return _explain(request, name, excerpt)


def explain_wrong_key(table: str) -> WrongTable:
    """The error for a table with another primary key."""
    return WrongTable(
        f"The table {table} is not keyed by a text named k alone, so it is not ExternalDNS's.",
        hint="Name the table that ExternalDNS was given with --dynamodb-table: its partition key is k, of "
        "type S, and it has no sort key.",
    )


def _explain(request: Request, name: str, excerpt: str) -> ProviderError:
    if name in _THROTTLED:
        return _explain_throttled(request, name)
    if name == "TransactionInProgressException":
        return TransactionInProgress(f"{request.origin} is still making this very change.")
    if name in _KEY_UNKNOWN | _KEY_EXPIRED | _SIGNATURE_REFUSED | _CLOCK_SKEWED:
        message, hint = _explain_credentials(request, name, excerpt)
        return DynamoDbRefusal(message, name=name, hint=hint)
    if name in {"AccessDeniedException", "AccessDenied"}:
        return DynamoDbRefusal(
            f"These credentials may not do {request.operation} on the table {request.table}: {excerpt}",
            name=name,
            hint=f"Allow them {', '.join(PERMISSIONS)} on this table.",
        )
    if name == "ResourceNotFoundException":
        return DynamoDbRefusal(
            f"There is no table {request.table} at {request.origin} in {request.region} for this account.",
            name=name,
            hint="Check the name of the table, the region, and which account the credentials belong to.",
        )
    if name == "ValidationException" and "schema" in excerpt.lower():
        return explain_wrong_key(request.table)
    return DynamoDbRefusal(
        f"{request.origin} refuses {request.operation} on the table {request.table} ({name}): {excerpt}",
        name=name,
        hint="Look at what it says, and at the table in its console.",
    )


def _explain_throttled(request: Request, name: str) -> Throttled:
    return Throttled(
        f"{request.origin} throttles {request.operation} on the table {request.table} ({name}).",
        name=name,
        hint="Give the table more capacity, or on-demand capacity, or raise the sync interval of this "
        "provider.",
    )


def _explain_credentials(request: Request, name: str, excerpt: str) -> tuple[str, str]:
    where = f"{request.origin} in {request.region}"
    lower = excerpt.lower()
    if name in _KEY_UNKNOWN:
        return (
            f"The access key is not known at {where}.",
            "Enter the id and the secret of a valid access key; a temporary one needs its session token too.",
        )
    if name in _KEY_EXPIRED:
        return f"The temporary credentials have expired at {where}.", "Enter new ones, or use a lasting key."
    if name in _CLOCK_SKEWED or "expired" in lower or "not yet current" in lower:
        return (
            f"The clock of this machine and the one at {where} are too far apart.",
            "Set this machine's clock; five minutes are the most that is allowed.",
        )
    if "scope" in lower:
        return (
            f"The request was signed for another region than the one at {request.origin}: {excerpt}",
            f"Use the endpoint of {request.region}, or the region of this endpoint.",
        )
    return (
        f"The secret access key does not fit its access key id at {where}.",
        "Enter the two parts of one access key again.",
    )


def _explain_cancelled(
    request: Request, reasons: tuple[CancellationReason, ...], excerpt: str
) -> DynamoDbRefusal:
    names = {reason.code for reason in reasons} - _MET
    name = "TransactionCanceledException"
    if names and names <= _THROTTLED:
        return _explain_throttled(request, ", ".join(sorted(names)))
    why = "; ".join(_list_messages(reasons, request.secrets)) or excerpt
    return TransactionCancelled(
        f"{request.origin} made none of the changes in the table {request.table}: {why}",
        name=name,
        reasons=reasons,
    )


def _list_messages(reasons: Iterable[CancellationReason], secrets: Iterable[str]) -> list[str]:
    messages: Mapping[str, None] = dict.fromkeys(
        safe_excerpt(f"{each.code} {each.message or ''}", tuple(secrets))
        for each in reasons
        if each.code not in _MET
    )
    return list(messages)[:3]
