"""One HTTP request to a provider: address checked, time and size bounded, nothing followed or retried."""

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import requests
from requests.adapters import HTTPAdapter
from requests.models import PreparedRequest
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from providers.http.address import parse_provider_url
from providers.http.address_policy import AddressPolicy, IPAddress, fetch_checked_addresses
from providers.http.answer import Answer, in_our_words
from providers.http.credentials import Credentials, build_tls_context
from providers.http.errors import InvalidCredentials, Unreachable
from providers.http.exchange import Exchange, WatchedSocket, WatchedTlsSocket


@dataclass(frozen=True)
class Limits:
    """How long and how large an answer may be. `seconds` covers all of it, name look-up to last byte."""

    seconds: float = 30.0
    max_body_bytes: int = 32 * 1024 * 1024
    max_head_bytes: int = 64 * 1024
    max_items: int = 200_000


DEFAULT_LIMITS = Limits()


class BoundedHttp:
    """Requests to one provider. Holds settings and no connection, so threads may share it.

    `peer` is what should listen there, in the words of an error.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        policy: AddressPolicy,
        limits: Limits,
        *,
        peer: str = "webhook provider",
    ) -> None:
        self.address = parse_provider_url(url)
        if self.address.login and credentials.login:
            raise InvalidCredentials(
                f"Two logins are given for {self.address.origin}: one in its URL and one in the credentials.",
                hint="Remove the user name and password from the URL.",
            )
        login = self.address.login or credentials.login
        self.limits = limits
        self._peer = peer
        self._login_headers = {"Authorization": login.header_value()} if login else {}
        self._secrets = (*(login.secrets() if login else ()), *self.address.secrets())
        self._policy = policy
        self._tls: ssl.SSLContext | None = None
        if self.address.scheme == "https":
            self._tls = build_tls_context(credentials)

    def begin(self) -> Exchange:
        """Start the clock of one request."""
        return Exchange(
            self.address.origin,
            seconds=self.limits.seconds,
            max_head_bytes=self.limits.max_head_bytes,
            peer=self._peer,
        )

    @contextmanager
    def send(
        self,
        exchange: Exchange,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Iterator[Answer]:
        """Send one request, once, and yield the answer, its head read; the connection ends with the block.

        Raises a ProviderError. `exchange.began_sending` then tells whether anything left.
        """
        addresses = fetch_checked_addresses(self.address, self._policy, seconds=exchange.remaining())
        adapter = PinnedAdapter(self.address.host, Route(addresses, self.address.port, exchange), self._tls)
        try:
            with in_our_words(exchange):
                # The adapter is driven without a Session: a Session reads netrc and proxies from the
                # environment, keeps cookies, and reads a redirect's body without bounds.
                response = adapter.send(
                    self._prepare(method, url, headers, body), stream=True, timeout=exchange.remaining()
                )
            with response:
                # A complete head ends in an empty line, before anyone reads the end of the connection.
                if exchange.peer_closed:
                    raise exchange.broken(cut=True)
                yield Answer(
                    response, exchange, max_body_bytes=self.limits.max_body_bytes, secrets=self._secrets
                )
        finally:
            adapter.close()

    def _prepare(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> requests.PreparedRequest:
        own = {
            "User-Agent": "dnsadmin",
            "Accept-Encoding": "identity",
            # A connection kept from before may be dead, and a change set sent into it of unknown outcome.
            "Connection": "close",
        }
        prepared = requests.Request(
            method, url, headers={**own, **headers, **self._login_headers}, data=body
        ).prepare()
        prepared.url = url  # as the provider's owner wrote it; prepare() rewrites escapes and dot segments
        return prepared


@dataclass(frozen=True)
class Route:
    """The checked addresses to dial, in order, and the exchange that watches.

    The name stays in the Host header, in SNI and in the verification of the certificate.
    """

    addresses: tuple[IPAddress, ...]
    port: int
    exchange: Exchange

    def dial(self) -> WatchedSocket:
        """Connect to the first address that answers; raises Unreachable, as exactly as it is known, when
        none does."""
        failures: list[OSError] = []
        for position, address in enumerate(self.addresses):
            # An address that swallows packets must leave time for those after it.
            seconds = self.exchange.remaining() / (len(self.addresses) - position)
            sock = WatchedSocket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
            try:
                sock.settimeout(seconds)
                sock.connect((str(address), self.port))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                sock.close()
                failures.append(error)
                continue
            return sock
        raise self._why(failures)

    def _why(self, failures: list[OSError]) -> Unreachable:
        if all(isinstance(failure, ConnectionRefusedError) for failure in failures):
            return self.exchange.refused()
        if any(isinstance(failure, ConnectionResetError) for failure in failures):
            return self.exchange.no_http()  # made, and ended before we could ask
        if isinstance(failures[-1], TimeoutError):  # the last one waited for all that was left
            return self.exchange.nothing_in_time()
        return self.exchange.not_connected()


class _PinnedConnection(HTTPConnection):
    def __init__(self, host: str, route: Route) -> None:
        super().__init__(host, route.port)
        self._route = route

    def _new_conn(self) -> socket.socket:
        sock = self._route.dial()
        sock.exchange = self._route.exchange
        return sock


class _PinnedTlsConnection(HTTPSConnection):
    def __init__(self, host: str, route: Route, tls: ssl.SSLContext) -> None:
        super().__init__(host, route.port, ssl_context=tls)
        self._route = route

    def _new_conn(self) -> socket.socket:
        sock = self._route.dial()
        # The handshake happens inside one call, for which this is the deadline.
        sock.settimeout(self._route.exchange.remaining())
        return sock

    def connect(self) -> None:
        exchange = self._route.exchange
        try:
            super().connect()
        except ssl.SSLError as exc:
            raise exchange.tls_failed(exc) from exc
        except TimeoutError as exc:  # in the middle of the handshake, as below
            raise exchange.nothing_in_time() from exc
        except OSError as exc:
            raise exchange.no_http() from exc
        if isinstance(self.sock, WatchedTlsSocket):
            self.sock.exchange = exchange
            # Otherwise a connection cut by a third party looks like the end of the body.
            self.sock.suppress_ragged_eofs = False


class _PinnedPool(HTTPConnectionPool):
    def __init__(self, host: str, route: Route) -> None:
        super().__init__(host, route.port)
        self._route = route

    def _new_conn(self) -> _PinnedConnection:
        return _PinnedConnection(self.host, self._route)


class _PinnedTlsPool(HTTPSConnectionPool):
    def __init__(self, host: str, route: Route, tls: ssl.SSLContext) -> None:
        super().__init__(host, route.port)
        self._route = route
        self._tls = tls

    def _new_conn(self) -> _PinnedTlsConnection:
        # The CA bundle that requests writes into the pool is left out on purpose:
        # loaded into our context, it would add the public authorities to a custom CA.
        return _PinnedTlsConnection(self.host, self._route, self._tls)


class PinnedAdapter(HTTPAdapter):
    """Sends one request to `host` along one route, inside TLS when a context for it is given."""

    def __init__(self, host: str, route: Route, tls: ssl.SSLContext | None) -> None:
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)
        self._pool = _PinnedPool(host, route) if tls is None else _PinnedTlsPool(host, route, tls)

    def get_connection_with_tls_context(
        self,
        request: PreparedRequest,
        verify: bool | str | None,  # noqa: FBT001  # the signature is requests'
        proxies: Mapping[str, str] | None = None,
        cert: tuple[str, str] | str | None = None,
    ) -> HTTPConnectionPool:
        """Return the one pool, whatever is asked: no proxy, no other host."""
        return self._pool

    def close(self) -> None:
        """Close the connection, if it is still open."""
        self._pool.close()
        super().close()
