"""What a provider answered: a status, a type, and a body that is read within bounds or not at all."""

import email.utils
import http.client
import io
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import requests
import urllib3.exceptions

from providers.http.errors import (
    CompressedAnswer,
    FailedAtProvider,
    MalformedAnswer,
    ProviderError,
    Redirected,
    RefusedByProvider,
    TooManyRequests,
    UnwelcomeStatus,
    bare_url,
    find_status_error,
    safe_excerpt,
)
from providers.http.exchange import Exchange

LONGEST_RETRY_AFTER = 86_400.0

# Of a length that nobody states: in smaller pieces, calls cost as much as the bytes.
_PIECE_BYTES = 1024 * 1024
_EXCERPT_BYTES = 2048
_EXCERPT_SECONDS = 1.0


class Body(NamedTuple):
    """A whole body, as it came."""

    data: bytes


@contextmanager
def in_our_words(exchange: Exchange) -> Iterator[None]:
    """Turn what requests, urllib3 and http.client raise into a ProviderError; ours pass through."""
    try:
        yield
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        http.client.HTTPException,
        OSError,
        ValueError,  # http.client on a negative chunk size
    ):
        # No cause: urllib3 writes the whole URL into its messages, and a query may hold a token.
        raise exchange.broken() from None


class Answer:
    """An answer whose head is read and whose body is still on the wire."""

    def __init__(
        self,
        response: requests.Response,
        exchange: Exchange,
        *,
        max_body_bytes: int,
        secrets: tuple[str, ...],
    ) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("Content-Type", "")
        self._headers = response.headers
        self._raw = response.raw
        self._exchange = exchange
        self._max_body_bytes = max_body_bytes
        self._secrets = secrets

    @property
    def shown_content_type(self) -> str:
        """The Content-Type as it may be shown and kept."""
        return self.excerpt(self.content_type)

    def varies_by(self, name: str) -> bool:
        """Whether its Vary header names this one."""
        names = self._headers.get("Vary", "").split(",")
        return name.lower() in (each.strip().lower() for each in names)

    def read_body(self) -> Body:
        """Read the body to its end; raises a ProviderError if it is too large, late, cut or compressed.

        A body that ends with the connection, without a length, may be cut all the same:
        only its decoder can tell.
        """
        self._raise_if_unreadable()
        # Chunk framing may double a body; a cheat with one-byte chunks is too large, sooner or later.
        self._exchange.allow_body(2 * self._max_body_bytes + _PIECE_BYTES)
        buffer = io.BytesIO()
        length = None if self._is_chunked() else self._headers.get("Content-Length")
        size = int(length or 0) or _PIECE_BYTES
        with in_our_words(self._exchange):
            while piece := self._raw.read(size):
                if buffer.tell() + len(piece) > self._max_body_bytes:
                    raise self._exchange.too_large()
                if buffer.tell():
                    buffer.write(piece)
                else:
                    # Not copied: of a known length, the first piece is all of the body.
                    buffer = io.BytesIO(piece)
                    buffer.seek(len(piece))
        # http.client takes the end of the connection for the end of the chunks ("0", or no trailer).
        if self._is_chunked() and self._exchange.peer_closed:
            raise self._exchange.broken(cut=True)
        return Body(buffer.getvalue())

    @property
    def retry_after(self) -> float | None:
        """The seconds the provider asks us to wait, if it does."""
        text = self._headers.get("Retry-After", "").strip()
        return parse_retry_after(text, now=time.time())

    def read_beginning(self, byte_count: int = _EXCERPT_BYTES) -> bytes:
        """The beginning of the body beside a status that is no success; empty if it does not come at once."""
        self._exchange.shorten(_EXCERPT_SECONDS)
        self._exchange.allow_body(_PIECE_BYTES)
        try:
            with in_our_words(self._exchange):
                data: bytes = self._raw.read(byte_count)
        except ProviderError:
            # The status is the error; its explanation is a courtesy that may be missing.
            return b""
        return data

    def excerpt(self, text: str) -> str:
        """A text of this answer as it may be shown and kept."""
        return safe_excerpt(text, self._secrets)

    def refusal(self) -> UnwelcomeStatus:
        """Return the error for this status, with a short excerpt of what the provider said."""
        origin, status = self._exchange.origin, self.status
        if 300 <= status < 400:
            where = self.excerpt(bare_url(self._headers.get("Location", "")))
            return Redirected(
                f"{origin} redirects to {where or 'no address'} ({status}).",
                status=status,
                hint="Register the URL at which the provider listens. dnsadmin never follows redirects.",
            )
        excerpt = self.excerpt(self.read_beginning().decode("utf-8", errors="replace"))
        message = f"{origin} responded with {status}{f': {excerpt}' if excerpt else ''}"
        hints = {
            TooManyRequests: "Raise the sync interval of this provider.",
            RefusedByProvider: "Check the URL and the credentials of this provider, and its log.",
            FailedAtProvider: "Look at the provider's log: it, or the DNS service behind it, failed.",
            UnwelcomeStatus: "Check that this is a webhook provider of protocol version 1.",
        }
        error = find_status_error(status)
        return error(message, status=status, hint=hints[error], retry_after=self.retry_after)

    def _raise_if_unreadable(self) -> None:
        coding = self._headers.get("Content-Encoding", "").strip().lower()
        if coding not in ("", "identity"):
            raise CompressedAnswer(
                f"The response of {self._exchange.origin} is compressed, which was not requested. It "
                "was not used.",
                hint="Turn compression off in the provider or the proxy in front of it.",
            )
        if self._headers.get("Transfer-Encoding", "chunked").strip().lower() not in ("chunked", "identity"):
            raise self._malformed("its Transfer-Encoding was not requested")
        length = self._headers.get("Content-Length")
        if length is None:
            return
        # int() would take "+5", "5_0" and " 5", and every program between us its own reading.
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise self._malformed("its Content-Length is not a number")
        if int(length) > self._max_body_bytes:
            raise self._exchange.too_large()

    def _is_chunked(self) -> bool:
        return self._headers.get("Transfer-Encoding", "").strip().lower() == "chunked"

    def _malformed(self, reason: str) -> MalformedAnswer:
        return MalformedAnswer(
            f"The response of {self._exchange.origin} was not used: {reason}.",
            hint="Check what listens there, and any proxy in between.",
        )


def parse_retry_after(text: str, *, now: float) -> float | None:
    """Read a Retry-After header, seconds or a date, as seconds from `now`: 0 to a day, None if unreadable."""
    try:
        if text.isascii() and text.isdigit():
            seconds = float(text)
        else:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER) if math.isfinite(seconds) else LONGEST_RETRY_AFTER
