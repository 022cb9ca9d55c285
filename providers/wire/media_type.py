"""The two media types, compared as ExternalDNS compares them: as one exact string."""

WEBHOOK_MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
PLUGIN_MEDIA_TYPE = "application/external.dns.plugin+json;version=1"


def is_webhook_media_type(header: str | None) -> bool:
    """True only for the exact string: ExternalDNS's client refuses a charset, a space or another case."""
    return header == WEBHOOK_MEDIA_TYPE


def is_plugin_media_type(header: str | None) -> bool:
    """True only for the exact string of the protocol before webhooks."""
    return header == PLUGIN_MEDIA_TYPE
