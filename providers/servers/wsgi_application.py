"""What every WSGI application here has in common: a request read within bounds, and an answer in any case."""

import base64
import hmac
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, StartResponse, WSGIEnvironment

_LOG = logging.getLogger("providers.servers")
# ExternalDNS's own bodies end there.
MOST_BODY_BYTES = 32 * 2**20
_PIECE_BYTES = 2**16
_REFUSED = 400
_BODILESS = (204, 304)
# What is still read of a body that is refused, so that a client that is sending gets to see the answer.
_DISCARD_SECONDS = 2.0
_DISCARD_BYTES = 64 * 2**20

_LONGEST_TEXT = 1_000


class Request(msgspec.Struct, frozen=True):
    """A request, read to its end. Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    query: str = ""  # as it came, without its question mark
    peer: str = ""  # the address it came from


class Answer(msgspec.Struct, frozen=True):
    """A whole answer; its length is added when it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Observer(Protocol):
    """Somebody who looks on: metrics."""

    def answered(self, request: Request, status: int, seconds: float) -> None:
        """A request is answered."""
        ...


class Refusal(Exception):
    """A request that is not answered as asked, with the status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class WsgiApplication:
    """An application that says with `answer` what it answers.

    A body is read before anything else is looked at, up to `most_body_bytes`. A server whose `wsgi.input`
    raises TimeoutError bounds how long that takes.
    """

    def __init__(self, *, most_body_bytes: int = MOST_BODY_BYTES, observers: Sequence[Observer] = ()) -> None:
        self._most_body_bytes = most_body_bytes
        self._observers = tuple(observers)

    def answer(self, request: Request) -> Answer:
        """The answer to a request, its effects done. Called from many threads at once. May raise Refusal."""
        raise NotImplementedError

    def refuse(self, refusal: Refusal) -> Answer:
        """The answer to a request that is refused, maybe before it was read to its end."""
        return plain_answer(refusal.status, str(refusal))

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        began = time.monotonic()
        request = _read_head(environ)
        answer = self._answer_in_any_case(request, environ)
        if answer.status >= _REFUSED:
            # Both come from the network: a line break in one must not begin a line of the log.
            where = f"{format_for_log(request.method)} {format_for_log(request.path)}"
            text = format_for_log(answer.body.decode("utf-8", "replace").strip())
            _LOG.warning("Refused %s with %d: %s", where, answer.status, text)
        for observer in self._observers:
            observer.answered(request, answer.status, time.monotonic() - began)
        headers = [("Server", "dnsadmin"), *answer.headers]
        if answer.status not in _BODILESS:
            headers.append(("Content-Length", str(len(answer.body))))
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
        return [b"" if request.method == "HEAD" else answer.body]

    def _answer_in_any_case(self, head: Request, environ: "WSGIEnvironment") -> Answer:
        """An unexpected error is logged, and answered with 500: a connection that ends
        without an answer would end the client's process."""
        try:
            body = _read_body(environ, self._most_body_bytes)
            return self.answer(msgspec.structs.replace(head, body=body))
        except Refusal as refusal:
            return self.refuse(refusal)
        except Exception:  # noqa: BLE001 - logged in full, and answered
            _LOG.exception("unexpected error while answering a request")
            return plain_answer(500, "The server failed inside. Read the records again; its log says more.")


def plain_answer(status: int, text: str, *headers: tuple[str, str]) -> Answer:
    """A short answer for a person who reads a log."""
    return Answer(
        status,
        (("Content-Type", "text/plain; charset=utf-8"), *headers),
        f"{text[:2000]}\n".encode("utf-8", "replace"),
    )


def _read_head(environ: "WSGIEnvironment") -> Request:
    headers = {
        name[5:].lower().replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.lower().replace("_", "-")] = environ[name]
    # WSGI has bytes in texts, as if they were Latin-1.
    path = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}".encode("latin-1")
    # A client that was given its address with a slash at the end asks for //records.
    path_text = f"/{path.decode('utf-8', 'replace').lstrip('/')}"
    query, peer = environ.get("QUERY_STRING", ""), environ.get("REMOTE_ADDR", "")
    return Request(environ["REQUEST_METHOD"], path_text, headers, query=query, peer=peer)


def _read_body(environ: "WSGIEnvironment", most: int) -> bytes:
    """The whole body. Raises Refusal for one that is too large, compressed, cut off or late."""
    stream = environ["wsgi.input"]
    length: str | None = environ.get("CONTENT_LENGTH") or None
    if length is not None and not (length.isascii() and length.isdigit() and len(length) < 20):
        raise Refusal(400, "Content-Length is not a number.")
    try:
        if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
            _discard(stream, length)
            raise Refusal(415, "Compressed bodies are not accepted; send the body as it is.")
        if length is None:
            # Without a length only some servers know where a body ends; they say so.
            return _read_to_end(stream, most) if environ.get("wsgi.input_terminated") else b""
        if int(length) > most:
            _discard(stream, length)
            raise _too_large(most)
        body = _read(stream, int(length))
    except TimeoutError as error:
        # Not 4xx: on that an ExternalDNS would end.
        raise Refusal(503, "The body did not come in time. Nothing was applied.") from error
    if len(body) < int(length):
        raise Refusal(400, "The body is shorter than its Content-Length. Nothing was applied.")
    return body


def _read_to_end(stream: "InputStream", most: int) -> bytes:
    body = _read(stream, most + 1)
    if len(body) > most:
        _discard(stream, None)
        raise _too_large(most)
    return body


def _read(stream: "InputStream", size: int) -> bytes:
    """So many bytes, or fewer if the body ends before."""
    body = bytearray()
    while len(body) < size and (piece := stream.read(min(_PIECE_BYTES, size - len(body)))):
        body += piece
    return bytes(body)


def _discard(stream: "InputStream", length: str | None) -> None:
    left = _DISCARD_BYTES if length is None else min(int(length), _DISCARD_BYTES)
    ends_at = time.monotonic() + _DISCARD_SECONDS
    while left > 0 and time.monotonic() < ends_at and (piece := stream.read(min(_PIECE_BYTES, left))):
        left -= len(piece)


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"The body is larger than {most} bytes. Nothing was applied.")


class RequiredCredential:
    """What every request must carry in `Authorization`. Never shown, neither by repr nor by str."""

    def __init__(self, scheme: str, parameter: str) -> None:
        self._scheme = scheme
        self._parameter = parameter.encode("utf-8")

    @classmethod
    def basic(cls, user: str, secret: str) -> Self:
        """HTTP Basic: what ExternalDNS sends for user-info in its URL."""
        if ":" in user:
            raise ValueError("A user name for HTTP Basic cannot hold a colon.")
        return cls("basic", base64.b64encode(f"{user}:{secret}".encode()).decode("ascii"))

    @classmethod
    def bearer(cls, token: str) -> Self:
        """A bearer token."""
        return cls("bearer", token)

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate`."""
        return f'{self._scheme.capitalize()} realm="dns provider"'

    def is_carried_by(self, request: Request) -> bool:
        """True if the request carries it; takes as long for a near miss as for a far one."""
        scheme, _, parameter = request.headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(parameter.strip().encode("utf-8", "surrogateescape"), self._parameter)
        return is_same and scheme.lower() == self._scheme

    def __repr__(self) -> str:
        return f"RequiredCredential({self._scheme}, hidden)"


def format_for_log(text: str) -> str:
    """A text from the network on one line, with what is not printable escaped."""
    shown = text[:_LONGEST_TEXT]
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in shown)
