"""The media type of the webhook protocol. ExternalDNS compares it as one exact string: a charset, a space or
another case is another type."""

WEBHOOK_MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
