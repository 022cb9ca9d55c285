"""What a client of any protocol offers: four calls, each bounded; a change set is sent once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from providers.wire.domain_filter import ParsedFilter
from providers.wire.endpoint import Endpoint, ValuePair


@dataclass(frozen=True)
class RecordsAnswer:
    """All a provider said about its records, not decoded yet: equal digests need no decoding.

    `content_type` is what it said, made safe to show; a wrong one is a finding, not a failure.
    `seconds` is how long the whole call took.
    """

    body: bytes
    digest: bytes
    content_type: str
    seconds: float


class ProviderClient(Protocol):
    """Speaks to one provider; every call raises a ProviderError when it does not succeed.

    No connection outlives its call, so one client may serve several threads. After `close`, or the `with`
    block, the credentials are dropped and no call is possible.
    """

    media_type: str  # what the protocol is spoken in

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Drop the credentials."""
        ...

    def negotiate(self) -> ParsedFilter:
        """Make sure that the protocol is spoken there, and what the domain filter is.

        Raises NotAProvider when the answer is not of the protocol's media type.
        """
        ...

    def records(self) -> RecordsAnswer:
        """Fetch all records, undecoded."""
        ...

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        """Let the provider put endpoints into the form it would store; nothing changes there."""
        ...

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """Those pairs of property values that mean the same there, within the time of one call; nothing
        changes. A protocol without this question looks at none of the pairs. Never raises."""
        ...

    def apply_changes(self, change_set_body: bytes) -> None:
        """Send exactly these bytes, once. Returning means the provider said success, which proves nothing.

        Raises NothingSent while not one byte had left, and OutcomeUnknown for everything after that,
        refusals included: some providers apply a part and then refuse.
        """
        ...
