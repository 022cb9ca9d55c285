"""A bounded HTTP/1.1 server for one application: threads, kept connections, a stop that waits its turn."""

import ssl
import threading
from collections.abc import Sequence

from providers.servers.connection import Connection
from providers.servers.exchange import Application, Observer
from providers.servers.limits import ServerLimits
from providers.servers.listener import Interceptor, Listener


class HttpServer:
    """Serves an application until it is stopped; startable again on the same port after that.

    Port 0 takes a free one; `port` says which. Without `faults` every request goes to the application.
    """

    def __init__(
        self,
        application: Application,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: ServerLimits | None = None,
        tls: ssl.SSLContext | None = None,
        observers: Sequence[Observer] = (),
        faults: Interceptor | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._application = application
        self._limits = limits or ServerLimits()
        self._tls = tls
        self._observers = tuple(observers)
        self._faults = faults
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def start(self) -> None:
        """Bind and serve in a thread of its own. Raises OSError if the address cannot be bound."""
        if self._listener is not None:
            raise RuntimeError("The server runs already.")
        listener = Listener(
            (self.host, self.port),
            Connection,
            self._application,
            self._limits,
            self._tls,
            self._observers,
            self._faults,
        )
        self.port = int(listener.server_address[1])
        self._listener = listener
        self._thread = threading.Thread(
            target=listener.serve_forever,
            kwargs={"poll_interval": 0.05},
            name=f"listener-{self.port}",
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, let requests under way finish for a while, close all. Idempotent."""
        listener, thread = self._listener, self._thread
        if listener is None or thread is None:
            return
        self._listener = self._thread = None
        listener.stopping.set()
        listener.shutdown()
        thread.join()
        listener.server_close()
        listener.open_connections.close_all(self._limits.stop_seconds)
