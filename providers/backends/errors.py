"""How a backend refuses, and what became of the changes of one request: made, left out, or unknown.

The texts reach the client's log: what happened, what is true now, what to do.
"""

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NoReturn, Protocol, TypeVar

import msgspec

from providers.wire.endpoint import EndpointKey

# ExternalDNS waits ten seconds for the answer to a change set, and its process ends when they are over.
_MOST_SECONDS_APART = 5.0
_LONGEST_LIST = 1_500
_NOTHING_APPLIED = " Nothing was applied."


class Reason(StrEnum):
    """Why a change was left out. Metrics count by it, so the list is short and fixed."""

    OLD_VALUE = "old_value"  # what is held is not what the request calls old
    EXISTS = "exists"  # a create where something exists
    ABSENT = "absent"  # an update or a delete of what does not exist
    CANNOT_HOLD = "cannot_hold"  # this backend can never hold it
    CNAME_CONFLICT = "cname_conflict"  # a CNAME and another type at one name
    OUTSIDE = "outside"  # in none of the zones served, or outside the domain filter
    INVALID = "invalid"  # no such name or type can exist, or a value is unfit for every reader
    CONTRADICTION = "contradiction"  # the request asks for two things of one record set
    BELONGS_TOGETHER = "belongs_together"  # a change that it belongs together with was left out
    SERVICE = "service"  # the DNS service itself did not take it


class BackendError(Exception):
    """The DNS service could not do what was asked. A server answers 500: the client tries again later.

    `refused` names the changes that were left out, where the others of the request were made or tried.
    """

    reason = Reason.SERVICE

    def __init__(
        self, text: str, *, reason: Reason | None = None, refused: Sequence["RefusedChange"] = ()
    ) -> None:
        super().__init__(text)
        if reason is not None:
            self.reason = reason
        self.refused = tuple(refused)


class ChangeRefused(BackendError):
    """The change does not fit what is held now. Passing: after a fresh read it may be right."""

    reason = Reason.OLD_VALUE


class ChangeImpossible(BackendError):
    """This backend can never hold what was asked. A client that asks again gets the same answer."""

    reason = Reason.CANNOT_HOLD


class RefusedChange(msgspec.Struct, frozen=True):
    """One change that was left out, and why."""

    key: EndpointKey
    error: BackendError


def describe(key: EndpointKey) -> str:
    """A record set in words for an error, such as `A www.example.org` or `A www.example.org (set eu)`."""
    text = f"{key.record_type} {key.name}"
    return f"{text} (set {key.set_identifier})" if key.set_identifier else text


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
    """Collects what becomes of the changes of a request, and states it in one error at the end."""

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
        call will do, and any other BackendError where the state of the service is unknown: then nothing more
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
        texts = [f"{self.made} changes of this request were made before"] if self.made else []
        texts += [f"{len(self._untried)} were not tried"] if self._untried else []
        texts += [f"{len(self.refused)} were not made: {self._list_refused()}"] if self.refused else []
        text = f"{stop} {', '.join(texts)}." if texts else str(stop)
        refused = (*self.refused, *self._unknown, *self._untried)
        raise BackendError(text, reason=stop.reason, refused=refused) from stop

    def _list_refused(self) -> str:
        texts = (
            f"{describe(each.key)} ({str(each.error).replace(_NOTHING_APPLIED, '')})" for each in self.refused
        )
        return "; ".join(texts)[:_LONGEST_LIST]


def _refuse_all(parts: Sequence[_P], error: BackendError) -> list[RefusedChange]:
    return [RefusedChange(key, error) for part in parts for key in part.keys]
