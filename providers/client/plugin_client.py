"""The client of the plugin protocol, the webhook's predecessor.

Only 5xx is retried, and only where a question changes nothing: a change set whose outcome is unknown is never
sent again unseen, whatever the protocol allows. Two questions have an answer of our own where the provider
gives none: endpoints stay as they are, and two values of a property are equal if they are the same text.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from providers.client.calls import Calls
from providers.client.provider_client import RecordsAnswer
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import FailedAtProvider, ProviderError
from providers.http.pause import compute_pause
from providers.wire.domain_filter import DomainFilter, ParsedFilter
from providers.wire.endpoint import Endpoint, ValuePair
from providers.wire.json_codec import PLUGIN_MEDIA_TYPE

_T = TypeVar("_T")
# 200 is the protocol's; servers of that time answered 204 too.
_SUCCESSES = (200, 204)
_TRIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_MOST_UNANSWERED_IN_A_ROW = 3


class _Equality(msgspec.Struct, frozen=True):
    equals: bool


class PluginClient:
    """A ProviderClient of the plugin protocol. All tries of a call share its one deadline."""

    media_type = PLUGIN_MEDIA_TYPE

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._calls = Calls(url, PLUGIN_MEDIA_TYPE, policy, credentials, limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._calls.close()

    def negotiate(self) -> ParsedFilter:
        """The protocol knows no domain filter: everything matches."""
        self._retried(
            lambda seconds: self._calls.negotiate("plugin", seconds, successes=(200,), must_vary=True)
        )
        return ParsedFilter(filter=DomainFilter(), said_filters=False)

    def records(self) -> RecordsAnswer:
        return self._retried(self._calls.records)

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        """As the provider would have them, or as they are where it does not say."""
        try:
            return self._retried(lambda seconds: self._calls.adjust_endpoints(endpoints, seconds))
        except ProviderError:
            return tuple(endpoints)

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        """Whether two values of a provider-specific property mean the same, as far as anybody can tell."""
        said = self._ask_whether_equal(ValuePair(name, previous, current), self._compute_end())
        return previous == current if said is None else said

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """All questions share the deadline of one call, and a provider that leaves three in a row unanswered
        is not asked the rest: without its word equal is what is the same text."""
        ends_at = self._compute_end()
        equal: set[ValuePair] = set()
        failed_in_a_row = 0
        for pair in pairs:
            said = None
            if failed_in_a_row < _MOST_UNANSWERED_IN_A_ROW and time.monotonic() < ends_at:
                said = self._ask_whether_equal(pair, ends_at)
                failed_in_a_row = failed_in_a_row + 1 if said is None else 0
            if pair.previous == pair.current if said is None else said:
                equal.add(pair)
        return frozenset(equal)

    def apply_changes(self, change_set_body: bytes) -> None:
        self._calls.apply_changes(change_set_body, _SUCCESSES)

    def _ask_whether_equal(self, pair: ValuePair, ends_at: float) -> bool | None:
        """The provider's word; None where it gives none that can be read."""
        question = msgspec.json.encode(pair._asdict())
        try:
            body, _ = self._retried(
                lambda seconds: self._calls.post("propertyvaluesequal", question, seconds), ends_at
            )
            return msgspec.json.decode(body.data, type=_Equality).equals
        except (ProviderError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _compute_end(self) -> float:
        return time.monotonic() + self._calls.limits.seconds

    def _retried(self, call: Callable[[float], _T], ends_at: float | None = None) -> _T:
        ends_at = self._compute_end() if ends_at is None else ends_at
        for number in range(1, _TRIES):
            try:
                return call(ends_at - time.monotonic())
            except FailedAtProvider:
                pause = compute_pause(number, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
                if time.monotonic() + pause >= ends_at:
                    raise
                time.sleep(pause)
        return call(ends_at - time.monotonic())
