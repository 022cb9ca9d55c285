"""Any backend behind one of the protocols, in the tests' process."""

import ssl
from collections.abc import Sequence
from typing import ClassVar

from providers.backends.backend import Backend
from providers.servers.provider_application import PluginApplication, ProviderApplication, WebhookApplication
from providers.servers.wsgi_application import RequiredCredential
from tests.servers.exchange import Interceptor, Observer
from tests.servers.http_server import HttpServer


class ProviderServer(HttpServer):
    """`start()` it, then `url` is what a client is configured with."""

    application_type: ClassVar[type[ProviderApplication]]

    def __init__(
        self,
        backend: Backend,
        *,
        base_path: str = "",
        credential: RequiredCredential | None = None,
        tls: ssl.SSLContext | None = None,
        observers: Sequence[Observer] = (),
        faults: Interceptor | None = None,
    ) -> None:
        self._base_path = base_path.rstrip("/")
        super().__init__(
            self.application_type(backend, base_path=base_path, credential=credential),
            tls=tls,
            observers=observers,
            faults=faults,
        )

    @property
    def url(self) -> str:
        return super().url + self._base_path


class WebhookServer(ProviderServer):
    """What ExternalDNS speaks to today."""

    application_type = WebhookApplication


class PluginServer(ProviderServer):
    """What ExternalDNS spoke to before there was the webhook protocol."""

    application_type = PluginApplication
