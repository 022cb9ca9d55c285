"""A server that stops lets requests under way finish, for a while."""

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers.backends.memory import MemoryBackend
from providers.servers.granian_server import GranianServer, ServerLimits
from providers.servers.provider_application import WebhookApplication
from providers.wire.endpoint import Endpoint
from tests.providers.servers.calls import exchange_bytes, raw_get
from tests.providers.servers.serving import serve


class _WaitingBackend(MemoryBackend):
    """Reads of it end when they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = threading.Event()
        self.may_go = threading.Event()

    def records(self) -> Sequence[Endpoint]:
        self.is_read.set()
        self.may_go.wait(30)
        return super().records()


@pytest.fixture
def backend() -> _WaitingBackend:
    return _WaitingBackend()


def _wait_until_it_takes_no_more(server: GranianServer) -> None:
    while _takes_connections(server):
        pass


def _takes_connections(server: GranianServer) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
    except ConnectionError:
        return False
    return True


def test_a_request_under_way_is_answered(backend: _WaitingBackend) -> None:
    with serve(WebhookApplication(backend)) as server, ThreadPoolExecutor() as threads:
        answer = threads.submit(exchange_bytes, server.port, raw_get())
        assert backend.is_read.wait(5)

        stop = threads.submit(server.stop)
        _wait_until_it_takes_no_more(server)
        backend.may_go.set()

        assert answer.result(5).startswith(b"HTTP/1.1 200 ")
        stop.result(5)


def test_one_that_does_not_end_is_not_waited_for(backend: _WaitingBackend) -> None:
    limits = ServerLimits(stop_seconds=0.2)
    with serve(WebhookApplication(backend), limits=limits) as server, ThreadPoolExecutor() as threads:
        answer = threads.submit(exchange_bytes, server.port, raw_get())
        assert backend.is_read.wait(5)

        server.stop()

        assert not answer.done()
        backend.may_go.set()
        answer.result(5)


def test_it_starts_again_on_the_same_port(backend: _WaitingBackend) -> None:
    backend.may_go.set()
    with serve(WebhookApplication(backend)) as server:
        server.stop()
        with pytest.raises(ConnectionError):
            exchange_bytes(server.port, raw_get())

        server.start()

        assert exchange_bytes(server.port, raw_get()).startswith(b"HTTP/1.1 200 ")
