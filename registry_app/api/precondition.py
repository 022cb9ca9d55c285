"""ETag and If-Match: a change says which version it was made from."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from rest_framework.request import Request

from registry_app.api.problem import PreconditionFailed, PreconditionRequired
from registry_app.errors import StateMoved

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Versioned(Protocol):
    """A row of configuration."""

    updated_at: datetime


def build_etag(row: Versioned) -> str:
    """The version of a row: its last change in microseconds."""
    return f'"{(row.updated_at - _EPOCH) // timedelta(microseconds=1)}"'


def read_expected_version(request: Request, row: Versioned) -> datetime:
    """`updated_at` as the change was made from. Raises PreconditionRequired or PreconditionFailed."""
    expected = request.headers.get("If-Match")
    if expected is None:
        raise PreconditionRequired(
            "A change must say which version it was made from.",
            todo="Send If-Match with the ETag you read.",
        )
    if build_etag(row) not in [etag.strip() for etag in expected.split(",")]:
        raise version_moved()
    return row.updated_at


def version_moved(cause: StateMoved | None = None) -> PreconditionFailed:
    """The refusal, in one wording for both places where it can be noticed."""
    return PreconditionFailed(
        cause.happened if cause else "It was changed since the version in If-Match.",
        todo="Read it again, compare, and repeat your change with the new ETag.",
    )
