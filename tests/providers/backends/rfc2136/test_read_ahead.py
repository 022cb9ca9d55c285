"""Messages are taken off a connection while their reader is busy with earlier ones."""

import socket
import threading

import pytest

from providers.backends.errors import BackendError
from providers.backends.name_server import ReadAhead

_SIZE = 60_000


def test_a_server_never_waits_for_somebody_who_reads_slowly() -> None:
    near, far = socket.socketpair()
    with near, far:
        server = threading.Thread(target=far.sendall, args=(b"x" * _SIZE * 500,), daemon=True)

        with ReadAhead(lambda: _receive(near), lambda: near.shutdown(socket.SHUT_RDWR)) as messages:
            server.start()
            first = messages.take()
            server.join(timeout=30)

            assert not server.is_alive()
            assert first == b"x" * _SIZE


def test_what_broke_off_is_told_after_what_came_before_it() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"x" * _SIZE + b"half")
        far.close()

        with ReadAhead(lambda: _receive(near), lambda: None) as messages:
            messages.take()

            with pytest.raises(BackendError, match="broke off"):
                messages.take()


def test_what_nobody_foresaw_reaches_the_reader_too() -> None:
    def fail() -> bytes:
        raise MemoryError("no room for the message")

    with ReadAhead(fail, lambda: None) as messages, pytest.raises(MemoryError):
        messages.take()


def test_who_has_enough_does_not_wait_for_more() -> None:
    near, far = socket.socketpair()
    with near, far:
        with ReadAhead(lambda: _receive(near), lambda: near.shutdown(socket.SHUT_RDWR)) as messages:
            far.sendall(b"x" * _SIZE)
            messages.take()

        assert not [each for each in threading.enumerate() if each.name == "read-ahead"]


def _receive(connection: socket.socket) -> bytes:
    """One message of a fixed size."""
    data = connection.recv(_SIZE, socket.MSG_WAITALL)
    if len(data) < _SIZE:
        raise BackendError("It broke off.")
    return data
