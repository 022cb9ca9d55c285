"""The client of the webhook protocol, version 1: four calls, each bounded, each sent once."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from providers.client.calls import Calls, malformed
from providers.client.provider_client import RecordsAnswer
from providers.http.address import parse_provider_url
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.wire.domain_filter import ParsedFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint, ValuePair
from providers.wire.errors import WireError
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE

# 204 today; older builds and the first text of the protocol say any 20x.
_SUCCESSES = range(200, 210)


class WebhookClient:
    """A ProviderClient of the webhook protocol. Nothing is retried."""

    media_type = WEBHOOK_MEDIA_TYPE

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._calls = Calls(url, WEBHOOK_MEDIA_TYPE, policy, credentials, limits)
        self._origin = parse_provider_url(url).origin

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._calls.close()

    def negotiate(self) -> ParsedFilter:
        body = self._calls.negotiate("webhook")
        try:
            return parse_domain_filter(body.data)
        except WireError as exc:
            raise malformed(self._origin, "domain filter", exc) from exc

    def records(self) -> RecordsAnswer:
        return self._calls.records()

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        return self._calls.adjust_endpoints(endpoints)

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """The protocol has no such question: values are equal where they are the same text."""
        return frozenset()

    def apply_changes(self, change_set_body: bytes) -> None:
        self._calls.apply_changes(change_set_body, _SUCCESSES)
