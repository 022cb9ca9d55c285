"""The client of the webhook protocol, version 1: four calls, each bounded, each sent once."""

from collections.abc import Iterable

from providers.client.provider_client import ProviderClient, malformed
from providers.wire.domain_filter import ParsedFilter, parse_domain_filter
from providers.wire.endpoint import ValuePair
from providers.wire.errors import WireError
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE


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
