"""The client of the plugin protocol, the webhook's predecessor.

Only 5xx is retried, and only where a question changes nothing: a change set whose outcome is unknown is never
sent again unseen, whatever the protocol allows. Two questions have an answer of our own where the provider
gives none: endpoints stay as they are, and two values of a property are equal if they are the same text.
"""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from providers.client.calls import Calls
from providers.client.provider_client import RecordsAnswer
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import FailedAtProvider, ProviderError
from providers.wire.domain_filter import DomainFilter, ParsedFilter
from providers.wire.endpoint import Endpoint
from providers.wire.media_type import PLUGIN_MEDIA_TYPE

_T = TypeVar("_T")
# 200 is the protocol's; servers of that time answered 204 too.
_SUCCESSES = (200, 204)
_TRIES = 3
_FIRST_PAUSE = 0.2


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
        self._retried(lambda seconds: self._calls.negotiate("plugin", seconds))
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
        question = msgspec.json.encode({"name": name, "previous": previous, "current": current})
        try:
            body, _ = self._retried(
                lambda seconds: self._calls.post("propertyvaluesequal", question, seconds)
            )
            return msgspec.json.decode(body.data, type=_Equality).equals
        except (ProviderError, msgspec.DecodeError):
            return previous == current

    def apply_changes(self, change_set_body: bytes) -> None:
        self._calls.apply_changes(change_set_body, _SUCCESSES)

    def _retried(self, call: Callable[[float], _T]) -> _T:
        ends_at = time.monotonic() + self._calls.limits.seconds
        for number in range(1, _TRIES):
            try:
                return call(ends_at - time.monotonic())
            except FailedAtProvider:
                pause = _FIRST_PAUSE * 2 ** (number - 1)
                if time.monotonic() + pause >= ends_at:
                    raise
                time.sleep(pause)
        return call(ends_at - time.monotonic())
