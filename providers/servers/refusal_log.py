"""What a server did not do, told to a log and to whoever counts."""

import logging
from collections.abc import Iterable, Sequence
from typing import Protocol

from providers.backends.errors import Reason, RefusedChange
from providers.backends.single_change import describe
from providers.wire.poison import safe_text

_LOG = logging.getLogger("providers.servers")
_MOST_LINES = 100
_LONGEST_TEXT = 1_000


class RefusalObserver(Protocol):
    """Somebody who counts what was left out."""

    def left_out(self, kind: str, reasons: Sequence[Reason]) -> None:
        """Changes of one request (`change`), or wanted endpoints that were corrected (`endpoint`)."""
        ...


def log_refused_changes(refused: Sequence[RefusedChange]) -> None:
    """One line for each change that was left out: its name, the reason, and what to do."""
    _log("Left out", refused)


def log_corrected_endpoints(refused: Sequence[RefusedChange]) -> None:
    """One line for each wanted endpoint that can never be held."""
    _log("Cannot hold what is wanted", refused)


def log_refused_request(method: str, path: str, status: int, text: bytes) -> None:
    """One line for a request that was not answered as asked."""
    said = _printable(text.decode("utf-8", "replace").strip())
    _LOG.warning("Refused %s %s with %d: %s", _printable(method), _printable(path), status, said)


def _log(what: str, refused: Sequence[RefusedChange]) -> None:
    for each in refused[:_MOST_LINES]:
        _LOG.warning(
            "%s: %s (%s): %s",
            what,
            safe_text(describe(each.key)),
            each.error.reason,
            _printable(str(each.error)),
        )
    if len(refused) > _MOST_LINES:
        _LOG.warning("%s: and %d more.", what, len(refused) - _MOST_LINES)


def _printable(text: str) -> str:
    # Names come from the network: a line break in one must not begin a line of the log.
    return "".join(_escape(text[:_LONGEST_TEXT]))


def _escape(text: str) -> Iterable[str]:
    return (each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
