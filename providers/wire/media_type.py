"""The media types of the two protocols. ExternalDNS compares them as one exact string: a charset, a space or
another case is another type."""

WEBHOOK_MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
PLUGIN_MEDIA_TYPE = "application/external.dns.plugin+json;version=1"
MEDIA_TYPES = frozenset({WEBHOOK_MEDIA_TYPE, PLUGIN_MEDIA_TYPE})
