"""The webhook protocol, version 1, spoken for any backend."""

from providers.servers.provider_application import ProviderApplication
from providers.wire.json_codec import encode_domain_filter
from providers.wire.media_type import WEBHOOK_MEDIA_TYPE


class WebhookApplication(ProviderApplication):
    """Negotiation tells the backend's domain filter; a change set that was applied is 204."""

    media_type = WEBHOOK_MEDIA_TYPE
    applied_status = 204

    def negotiated_body(self) -> bytes:
        return encode_domain_filter(self.backend.domain_filter())
