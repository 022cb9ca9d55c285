"""Messages taken off a connection as they come, however long their reader takes over each."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType


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
