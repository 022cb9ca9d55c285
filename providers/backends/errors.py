"""How a backend says no. The text reaches the client's log: what happened, what is true now, what to do."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from providers.wire.endpoint import EndpointKey


class Reason(StrEnum):
    """Why a change was left out. Metrics count by it, so the list is short and fixed."""

    OLD_VALUE = "old_value"  # what is held is not what the request calls old
    EXISTS = "exists"  # a create where something stands
    ABSENT = "absent"  # an update or a delete of what does not stand
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
