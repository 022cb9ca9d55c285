"""The clients of the webhook protocol, version 1, and of the plugin protocol, its predecessor."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from providers.client.provider_client import ProviderClient, malformed
from providers.http.errors import FailedAtProvider, ProviderError
from providers.http.pause import compute_pause
from providers.wire.domain_filter import DomainFilter, ParsedFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint, ValuePair
from providers.wire.errors import WireError
from providers.wire.json_codec import PLUGIN_MEDIA_TYPE, WEBHOOK_MEDIA_TYPE

_T = TypeVar("_T")
_TRIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_MOST_UNANSWERED_IN_A_ROW = 3


class WebhookClient(ProviderClient):
    """A client of the webhook protocol. Nothing is retried."""

    protocol = "webhook"
    media_type = WEBHOOK_MEDIA_TYPE
    negotiated = range(200, 300)
    # 204 today; older builds and the first text of the protocol say any 20x.
    applied = range(200, 210)

    def negotiate(self) -> ParsedFilter:
        body, origin = self._run(self._negotiate)
        try:
            return parse_domain_filter(body.data)
        except WireError as exc:
            raise malformed(origin, "domain filter", exc) from exc

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """The protocol has no such question: values are equal where they are the same text."""
        return frozenset()


class _Equality(msgspec.Struct, frozen=True):
    equals: bool


class PluginClient(ProviderClient):
    """A client of the plugin protocol. All tries of a call share its one deadline.

    Only 5xx is retried, and only where a question changes nothing: a change set whose outcome is unknown is
    never sent again unread, whatever the protocol allows. Two questions have an answer of our own where the
    provider gives none: endpoints stay as they are, and two values of a property are equal if they are the
    same text.
    """

    protocol = "plugin"
    media_type = PLUGIN_MEDIA_TYPE
    negotiated = (200,)
    # 200 is the protocol's; servers of that time answered 204 too.
    applied = (200, 204)
    must_vary = True

    def negotiate(self) -> ParsedFilter:
        """The protocol knows no domain filter: everything matches."""
        self._run(self._negotiate)
        return ParsedFilter(filter=DomainFilter(), said_filters=False)

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        """As the provider would have them, or as they are where it does not say."""
        try:
            return super().adjust_endpoints(endpoints)
        except ProviderError:
            return tuple(endpoints)

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """All questions share the deadline of one call, and a provider that leaves three in a row unanswered
        is not asked the rest: without its answer equal is what is the same text."""
        ends_at = self._compute_end()
        equal: set[ValuePair] = set()
        failed_in_a_row = 0
        for pair in pairs:
            answer = None
            if failed_in_a_row < _MOST_UNANSWERED_IN_A_ROW and time.monotonic() < ends_at:
                answer = self._ask_whether_equal(pair, ends_at)
                failed_in_a_row = failed_in_a_row + 1 if answer is None else 0
            if pair.previous == pair.current if answer is None else answer:
                equal.add(pair)
        return frozenset(equal)

    def _ask_whether_equal(self, pair: ValuePair, ends_at: float) -> bool | None:
        """The provider's answer; None where it gives none that can be read."""
        question = msgspec.json.encode(pair._asdict())
        try:
            body, _ = self._run(lambda seconds: self._post("propertyvaluesequal", question, seconds), ends_at)
            return msgspec.json.decode(body.data, type=_Equality).equals
        except (ProviderError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _compute_end(self) -> float:
        return time.monotonic() + self._limits.seconds

    def _run(self, call: Callable[[float | None], _T], ends_at: float | None = None) -> _T:
        """Run a call, and again where the provider failed, until `ends_at`."""
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
