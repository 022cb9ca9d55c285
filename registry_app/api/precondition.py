"""ETag, If-Match and If-None-Match (RFC 9110): a change names the version it was made from, and what
the client has already is not sent again.

A tag is `"version.digest"`. The version is that of what people enter; If-Match compares it alone, so that a
sync that only counts something does not prevent a change. The digest is that of the whole
answer, so that a tag names exactly these bytes. Answers without a version have a digest alone.
"""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Protocol

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.problem import InvalidParameter, PreconditionFailed, PreconditionRequired
from registry_app.errors import StateMoved

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="The ETag of the version the change was made from, or `*` for any. Without it: 428; another "
    "one: 412.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="ETags of responses that the client has. If the response is one of them: 304.",
)
ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200],
    description="The version of what is shown, and the digest of the response.",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANY = "*"
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_BETWEEN = re.compile(r"[ \t]*,[ \t,]*")


class Versioned(Protocol):
    """A row of configuration."""

    updated_at: datetime


def build_etag(row: Versioned) -> str:
    """The tag of a row's version, its last change in microseconds. `add_etag` adds the digest."""
    return f'"{(row.updated_at - _EPOCH) // timedelta(microseconds=1)}"'


def read_expected_version(request: Request, row: Versioned) -> datetime | None:
    """`updated_at` as the change was made from; None for `*`, any version.

    Raises PreconditionRequired, PreconditionFailed, or InvalidParameter for a header that cannot be read.
    """
    given = request.headers.get(IF_MATCH.name)
    if given is None:
        raise PreconditionRequired(
            "A change must say which version it was made from.",
            todo="Send If-Match with the ETag you read, or with * for any version.",
        )
    if given.strip() == _ANY:
        return None
    # A weak tag never matches here: it does not claim to name one version exactly.
    versions = [
        opaque.partition(".")[0] for is_weak, opaque in _parse_tags(IF_MATCH.name, given) if not is_weak
    ]
    if build_etag(row).strip('"') not in versions:
        raise version_moved()
    return row.updated_at


def version_moved(cause: StateMoved | None = None) -> PreconditionFailed:
    """The refusal of a change that was made from an older version."""
    return PreconditionFailed(
        cause.happened if cause else "It was changed since the version in If-Match.",
        todo="Read it again, compare, and repeat your change with the new ETag.",
    )


def raise_if_unreadable(request: Request) -> None:
    """Raise InvalidParameter for an If-None-Match that cannot be read. Asked before anything is done."""
    if (given := request.headers.get(IF_NONE_MATCH.name)) is not None:
        _read_known(given)


def add_etag(request: Request, response: Response) -> None:
    """Give the rendered response its tag, and make it 304 where If-None-Match names that tag."""
    is_read = request.method in ("GET", "HEAD")
    if response.status_code >= 300 or not (is_read or "ETag" in response):
        return
    given = request.headers.get(IF_NONE_MATCH.name) if is_read else None
    known = None if given is None else _read_known(given)

    def seal(rendered: Response) -> None:
        digest = hashlib.sha256(rendered.content).hexdigest()[:32]
        version = rendered.headers.get("ETag", "").strip('"')
        opaque = f"{version}.{digest}" if version else digest
        rendered["ETag"] = f'"{opaque}"'
        if known is not None and known & {_ANY, opaque}:
            rendered.status_code = 304
            rendered.content = b""
            del rendered.headers["Content-Type"]

    response.add_post_render_callback(seal)


def _read_known(given: str) -> set[str]:
    if given.strip() == _ANY:
        return {_ANY}
    return {opaque for _, opaque in _parse_tags(IF_NONE_MATCH.name, given)} - {_ANY}


def _parse_tags(header: str, text: str) -> list[tuple[bool, str]]:
    """Each tag of a list, whether it is weak and the text between its quotes."""
    tags: list[tuple[bool, str]] = []
    text = text.strip(" \t,")
    position = 0
    while (found := _TAG.match(text, position)) is not None:
        tags.append((found[1] is not None, found[2]))
        position = found.end()
        if (comma := _BETWEEN.match(text, position)) is None:
            break
        position = comma.end()
    if not tags or position != len(text):
        raise InvalidParameter(
            f"{header} cannot be read.",
            fields={header: ['Send ETags as they were, quotes included: "1", or * alone.']},
        )
    return tags
