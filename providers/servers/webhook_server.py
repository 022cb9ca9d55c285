"""Any backend behind the webhook protocol."""

from providers.servers.provider_server import ProviderServer
from providers.servers.webhook_application import WebhookApplication


class WebhookServer(ProviderServer):
    """What ExternalDNS speaks to today."""

    application = WebhookApplication
