"""The webhook protocol, version 1, spoken for any backend."""

from providers.servers.provider_application import ProviderApplication
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_domain_filter


class WebhookApplication(ProviderApplication):
    """Negotiation tells the backend's domain filter; a change set that was applied is 204."""

    media_type = WEBHOOK_MEDIA_TYPE
    applied_status = 204

    def negotiated_body(self) -> bytes:
        return encode_domain_filter(self.backend.domain_filter())
