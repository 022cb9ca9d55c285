"""Any backend behind the plugin protocol."""

from providers.servers.plugin_application import PluginApplication
from providers.servers.provider_server import ProviderServer


class PluginServer(ProviderServer):
    """What ExternalDNS spoke to before there was the webhook protocol."""

    application = PluginApplication
