"""A name server over TCP, within one deadline and bounded in bytes, and the key that signs what is sent."""

import base64
import binascii
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.tsig
import dns.xfr
import dns.zone

from providers.backends.errors import BackendError

_ALGORITHMS = {
    "hmac-sha256": dns.tsig.HMAC_SHA256,
    "hmac-sha384": dns.tsig.HMAC_SHA384,
    "hmac-sha512": dns.tsig.HMAC_SHA512,
}
_NAME, _SECRET, _ALGORITHM = "RFC2136_TSIG_KEY_NAME", "RFC2136_TSIG_SECRET", "RFC2136_TSIG_ALGORITHM"
_LONGEST_FILE = 64 * 1024
# As `tsig-keygen` writes it: key "name" { algorithm hmac-sha256; secret "..."; };
_KEY_FILE = re.compile(r'key\s+"?([^"\s{]+)"?\s*\{([^}]*)\}')
_CLAUSE = re.compile(r'(algorithm|secret)\s+"?([^";\s]+)"?\s*;')

_LONGEST_MESSAGE = 65_535


@dataclass(frozen=True)
class TsigKey:
    """A name, an algorithm and a secret that both sides know. Its repr does not show the secret, as that of
    dnspython's own value does."""

    name: str
    algorithm: str
    secret: bytes = field(repr=False)

    def to_dnspython(self) -> dns.tsig.Key:
        """The library's own value."""
        return dns.tsig.Key(dns.name.from_text(self.name), self.secret, _ALGORITHMS[self.algorithm])


def fetch_tsig_key(path: Path | None, environment: Mapping[str, str]) -> TsigKey | None:
    """The key of a file as `tsig-keygen` writes it, or of the environment; None where neither names one.

    Raises BackendError, without the secret, for a key that cannot be used.
    """
    if path is not None:
        return _parse_key_file(path)
    name, secret = environment.get(_NAME, ""), environment.get(_SECRET, "")
    if not name and not secret:
        return None
    if not name or not secret:
        raise BackendError(f"{_NAME} and {_SECRET} go together; set both or neither.")
    return _make_key(name, environment.get(_ALGORITHM, "hmac-sha256"), secret)


def _parse_key_file(path: Path) -> TsigKey:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST_FILE)
    except (OSError, UnicodeDecodeError) as error:
        raise BackendError(f"The key file {path.name} cannot be read.") from error
    found = _KEY_FILE.search(text)
    clauses = dict(_CLAUSE.findall(found.group(2))) if found else {}
    if found is None or "secret" not in clauses:
        raise BackendError(f"{path.name} holds no key; write it with tsig-keygen.")
    return _make_key(found.group(1), clauses.get("algorithm", "hmac-sha256"), clauses["secret"])


def _make_key(name: str, algorithm: str, secret: str) -> TsigKey:
    if algorithm.lower().removesuffix(".") not in _ALGORITHMS:
        raise BackendError(f"The TSIG algorithm {algorithm[:40]} is not one of {', '.join(_ALGORITHMS)}.")
    try:
        dns.name.from_text(name)
        content = base64.b64decode(secret, validate=True)
    except (dns.exception.DNSException, binascii.Error):
        raise BackendError("The TSIG key's name or its secret, which is base64, cannot be read.") from None
    return TsigKey(name, algorithm.lower().removesuffix("."), content)


class ReadAhead:
    """Calls `receive` in a thread of its own until it raises; what it read waits here.

    Name servers drop a client that leaves a message of a transfer waiting (Knot: half a second,
    `tcp-io-timeout`), and reading a message into a zone on a busy machine takes longer than taking it off
    the wire. `receive` bounds what may come, in bytes and in time, and raises BackendError; `stop` makes it
    do so.
    """

    def __init__(self, receive: Callable[[], bytes], stop: Callable[[], None]) -> None:
        self._receive = receive
        self._stop = stop
        self._waiting: SimpleQueue[bytes | Exception] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)

    def __enter__(self) -> "ReadAhead":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._thread.join()

    def take(self) -> bytes:
        """The next message. Raises what `receive` raised in its place; to be called no more after that."""
        message = self._waiting.get()
        if isinstance(message, Exception):
            raise message
        return message

    def _run(self) -> None:
        try:
            while True:
                self._waiting.put(self._receive())
        except Exception as error:  # noqa: BLE001 - whatever ends this thread must reach its reader
            self._waiting.put(error)


class NoAnswer(BackendError):
    """The request left and no whole answer came back."""


@dataclass(frozen=True)
class NameServer:
    """Where zones are read and updated. `seconds` covers a whole exchange, `most_bytes` a whole transfer."""

    host: str
    port: int = 53
    key: TsigKey | None = None
    seconds: float = 30.0
    most_bytes: int = 512 * 1024 * 1024

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def sign(self, message: dns.message.Message) -> None:
        """Sign a message with the key, if there is one."""
        if self.key is not None:
            key = self.key.to_dnspython()
            message.use_tsig(key, key.name)

    def fetch_zone(self, origin: dns.name.Name) -> dns.zone.Zone:
        """A whole zone by AXFR. Raises BackendError; a transfer that breaks off is never taken for whole."""
        zone = dns.zone.Zone(origin, relativize=False)
        query, _ = dns.xfr.make_query(zone, serial=None)
        self.sign(query)
        try:
            with self._connected() as wire, dns.xfr.Inbound(zone, query.question[0].rdtype) as inbound:
                wire.send(query)
                with ReadAhead(wire.receive, wire.stop) as messages:
                    self._take_messages(messages, query, inbound, zone.from_wire_origin())
        except dns.xfr.TransferError as error:
            raise _refused(self, f"the transfer of {origin}", error.rcode) from error
        except (dns.exception.DNSException, ValueError) as error:
            raise self._unreadable(f"the transfer of {origin}", error) from error
        return zone

    def exchange(self, message: dns.message.Message) -> dns.message.Message:
        """Send one message, once, and read its answer. Raises NoAnswer or another BackendError."""
        with self._connected() as wire:
            wire.send(message)
            data = wire.receive()
        try:
            return dns.message.from_wire(data, keyring=message.keyring, request_mac=message.mac)
        except dns.exception.DNSException as error:
            raise self._unreadable("its answer", error) from error

    def _take_messages(
        self,
        messages: ReadAhead,
        query: dns.message.Message,
        inbound: dns.xfr.Inbound,
        origin: dns.name.Name | None,
    ) -> None:
        context: object = None
        is_done = False
        while not is_done:
            answer = dns.message.from_wire(
                messages.take(),
                keyring=query.keyring,
                request_mac=query.mac,
                xfr=True,
                origin=origin,
                tsig_ctx=context,  # type: ignore[arg-type]  # what the library itself hands on from message to message
                multi=True,
            )
            context = answer.tsig_ctx
            is_done = inbound.process_message(answer)
        if query.keyring and not answer.had_tsig:
            raise BackendError(f"The transfer from {self} did not end signed; it was not used.")

    @contextmanager
    def _connected(self) -> Iterator["_Wire"]:
        ends_at = time.monotonic() + self.seconds
        try:
            connection = socket.create_connection((self.host, self.port), timeout=self.seconds)
        except OSError as error:
            raise BackendError(
                f"No name server answers at {self} ({error.strerror or 'no answer'}). Nothing was changed."
            ) from error
        with connection:
            yield _Wire(connection, str(self), ends_at, self.most_bytes)

    def _unreadable(self, what: str, error: Exception) -> BackendError:
        if isinstance(error, dns.tsig.PeerError | dns.tsig.BadSignature | dns.tsig.BadTime | dns.tsig.BadKey):
            return BackendError(
                f"{self} does not agree on the TSIG key ({type(error).__name__}). Nothing was changed. "
                "Compare the key's name, algorithm and secret on both sides, and the clocks."
            )
        return BackendError(f"{self}: {what} cannot be read: {str(error)[:200]}. It was not used.")


@dataclass
class _Wire:
    """One connection, with what is left of its time and its bytes."""

    connection: socket.socket
    where: str
    ends_at: float
    bytes_left: int
    sent: bool = False

    def send(self, message: dns.message.Message) -> None:
        data = message.to_wire(max_size=_LONGEST_MESSAGE)
        try:
            self._arm()
            self.connection.sendall(struct.pack("!H", len(data)) + data)
        except OSError as error:
            raise NoAnswer(f"The connection to {self.where} broke while a request was sent.") from error

    def receive(self) -> bytes:
        (length,) = struct.unpack("!H", self._read(2))
        self.bytes_left -= length
        if self.bytes_left < 0:
            raise BackendError(f"The transfer from {self.where} is larger than allowed; it was not used.")
        return self._read(length)

    def stop(self) -> None:
        """Have a `receive` that waits in another thread end now."""
        with suppress(OSError):  # the other side may have hung up before
            self.connection.shutdown(socket.SHUT_RDWR)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                self._arm()
                piece = self.connection.recv(count - len(data))
            except OSError as error:
                raise NoAnswer(f"{self.where} did not respond in time.") from error
            if not piece:
                raise NoAnswer(f"{self.where} ended the connection before its response was complete.")
            data += piece
        return bytes(data)

    def _arm(self) -> None:
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise NoAnswer(f"{self.where} did not respond in time.")
        self.connection.settimeout(left)


def _refused(server: NameServer, what: str, rcode: int) -> BackendError:
    text = dns.rcode.to_text(dns.rcode.Rcode(rcode))
    return BackendError(
        f"{server} refused {what}: {text}. Nothing was changed. It must allow this key, or this address, to "
        "transfer the zone, and be primary for it."
    )
