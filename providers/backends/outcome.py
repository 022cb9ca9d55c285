"""What became of the changes of one request: made, left out, or unknown."""

import time
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol, TypeVar

from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused, RefusedChange
from providers.backends.single_change import describe
from providers.wire.endpoint import EndpointKey

# ExternalDNS waits ten seconds for the answer to a change set, and its process ends when they are over.
_MOST_SECONDS_APART = 5.0
_LONGEST_LIST = 1_500
_NOTHING_APPLIED = " Nothing was applied."


class PartRefused(ChangeRefused):
    """The service refused several changes as a whole, and one of them alone may be the reason."""


class Part(Protocol):
    """Changes that are made together or not at all."""

    @property
    def keys(self) -> Sequence[EndpointKey]:
        """What they change."""
        ...


_P = TypeVar("_P", bound=Part)


class Outcome:
    """Collects what a request comes to, and says it in one error at the end."""

    def __init__(self, refused: Sequence[RefusedChange] = ()) -> None:
        self.made = 0
        self.refused = list(refused)
        self._stop: BackendError | None = None
        self._unknown: list[RefusedChange] = []
        self._untried: list[RefusedChange] = []

    def send(self, batches: Sequence[Sequence[_P]], send: Callable[[Sequence[_P]], None]) -> None:
        """Send batches of parts one after the other, and apart where one is refused as a whole, so that a bad
        part does not keep the others from being made.

        `send` raises PartRefused where the parts may do alone, another ChangeRefused where no batch of this
        call will do, and any other BackendError where nothing can be said of the service: then nothing more
        is sent, also by later calls.
        """
        ends_at = time.monotonic() + _MOST_SECONDS_APART
        waiting = list(batches)
        while waiting:
            batch = waiting.pop(0)
            if self._stop is not None:
                self._untried += _refuse_all(batch, self._stop)
                continue
            try:
                send(batch)
            except PartRefused as error:
                if len(batch) == 1 or time.monotonic() >= ends_at:
                    self.refused += _refuse_all(batch, error)
                    continue
                middle = len(batch) // 2
                waiting[:0] = [batch[:middle], batch[middle:]]
            except ChangeRefused as error:
                for each in (batch, *waiting):
                    self.refused += _refuse_all(each, error)
                return
            except BackendError as error:
                self._stop = error
                self._unknown += _refuse_all(batch, error)
            else:
                self.made += sum(len(part.keys) for part in batch)

    def raise_if_refused(self) -> None:
        """Raise where not all was made. ChangeImpossible where nothing was made and nothing ever could be."""
        if self._stop is not None:
            self._raise_stop(self._stop)
        if not self.refused:
            return
        errors = [each.error for each in self.refused]
        if not self.made and len({str(error) for error in errors}) == 1:
            raise type(errors[0])(str(errors[0]), reason=errors[0].reason, refused=self.refused)
        total = self.made + len(self.refused)
        others = "the others were" if self.made else "so nothing was applied"
        is_impossible = not self.made and all(isinstance(error, ChangeImpossible) for error in errors)
        kind = ChangeImpossible if is_impossible else ChangeRefused
        raise kind(
            f"{len(self.refused)} of {total} changes were not applied, {others}: {self._list_refused()}",
            reason=errors[0].reason,
            refused=self.refused,
        )

    def _raise_stop(self, stop: BackendError) -> NoReturn:
        """The request broke off: what is true of its other changes."""
        told = [f"{self.made} changes of this request were made before"] if self.made else []
        told += [f"{len(self._untried)} were not tried"] if self._untried else []
        told += [f"{len(self.refused)} were not made: {self._list_refused()}"] if self.refused else []
        text = f"{stop} {', '.join(told)}." if told else str(stop)
        refused = (*self.refused, *self._unknown, *self._untried)
        raise BackendError(text, reason=stop.reason, refused=refused) from stop

    def _list_refused(self) -> str:
        told = (
            f"{describe(each.key)} ({str(each.error).replace(_NOTHING_APPLIED, '')})" for each in self.refused
        )
        return "; ".join(told)[:_LONGEST_LIST]


def _refuse_all(parts: Sequence[_P], error: BackendError) -> list[RefusedChange]:
    return [RefusedChange(key, error) for part in parts for key in part.keys]
