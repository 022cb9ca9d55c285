"""Any backend behind one of the protocols on a port of its own."""

import ssl
from collections.abc import Sequence
from typing import ClassVar

from providers.backends.backend import Backend
from providers.servers.authentication import RequiredCredential
from providers.servers.exchange import Observer
from providers.servers.http_server import HttpServer
from providers.servers.limits import ServerLimits
from providers.servers.listener import Interceptor
from providers.servers.provider_application import ProviderApplication
from providers.servers.refusal_log import RefusalObserver


class ProviderServer(HttpServer):
    """`start()` it, then `url` is what a client is configured with."""

    application: ClassVar[type[ProviderApplication]]

    def __init__(
        self,
        backend: Backend,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        base_path: str = "",
        credential: RequiredCredential | None = None,
        limits: ServerLimits | None = None,
        tls: ssl.SSLContext | None = None,
        observers: Sequence[Observer] = (),
        faults: Interceptor | None = None,
        refusal_observers: Sequence[RefusalObserver] = (),
    ) -> None:
        self._base_path = base_path.rstrip("/")
        limits = limits or ServerLimits()
        super().__init__(
            self.application(
                backend,
                base_path=base_path,
                credential=credential,
                most_items=limits.items,
                refusal_observers=refusal_observers,
            ),
            host=host,
            port=port,
            limits=limits,
            tls=tls,
            observers=observers,
            faults=faults,
        )

    @property
    def url(self) -> str:
        return super().url + self._base_path
