"""A requests adapter that dials addresses somebody checked, and nothing else.

The name stays where it belongs: in the Host header, in SNI and in the verification of the certificate.
One adapter makes one connection for one request, so nothing is shared, kept or retried.
"""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from requests.adapters import HTTPAdapter
from requests.models import PreparedRequest
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from providers.http.address_policy import IPAddress
from providers.http.errors import Unreachable
from providers.http.exchange import Exchange, WatchedSocket, WatchedTlsSocket


@dataclass(frozen=True)
class Route:
    """The checked addresses to dial, in order, and the exchange that watches."""

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
