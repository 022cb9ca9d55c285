"""The product's server around an application, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from providers.servers.granian_server import GranianServer
from providers.servers.wsgi_application import WsgiApplication


@contextmanager
def serve(application: WsgiApplication, **settings: Any) -> Iterator[GranianServer]:
    """The server, until the end of the block."""
    server = GranianServer(application, **settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
