"""Every backend, behind every protocol, over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from providers.backends.backend import Backend
from providers.backends.memory import MemoryBackend
from providers.backends.route53 import Route53Backend
from providers.wire.canonical_name import canonical_name, canonical_targets
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_endpoints_strict, encode_change_set, encode_endpoints
from tests.depth import deep_after
from tests.providers.contract.backends import BACKENDS, IN_THIS_PROCESS
from tests.servers.provider_server import PluginServer, ProviderServer, WebhookServer

_SERVERS: dict[str, type[ProviderServer]] = {"webhook": WebhookServer, "plugin": PluginServer}
_PATIENCE = 60


@dataclass
class Served:
    """One backend behind one protocol, by its name in `BACKENDS`."""

    url: str
    media_type: str
    applied_status: int
    backend: Backend
    name: str = ""

    @property
    def is_atomic(self) -> bool:
        """Whether a change set is applied as a whole or not at all; else, all of it that can be."""
        return self.name == "memory"

    @property
    def compares_old_values(self) -> bool:
        """Whether `updateOld` and `delete` must mean what is held."""
        return self.name != "memory, any old value"

    @property
    def holds_sets(self) -> bool:
        """Whether it holds several record sets of one name and type, and provider-specific properties."""
        return isinstance(self.backend, MemoryBackend | Route53Backend)

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> requests.Response:
        """One request with the protocol's headers, those in `headers` instead where given."""
        sent = {"Accept": self.media_type}
        if body is not None:
            sent["Content-Type"] = self.media_type
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.request(method, self.url + path, data=body, headers=sent, timeout=_PATIENCE)

    def apply(
        self,
        *,
        create: tuple[Endpoint, ...] = (),
        update: tuple[tuple[Endpoint, Endpoint], ...] = (),
        delete: tuple[Endpoint, ...] = (),
    ) -> int:
        """Send one change set; the status of the answer."""
        change_set = ChangeSet(
            create=create,
            update_old=tuple(old for old, _ in update),
            update_new=tuple(new for _, new in update),
            delete=delete,
        )
        return self.call("POST", "/records", encode_change_set(change_set)).status_code

    def records(self) -> list[Endpoint]:
        """What it shows now."""
        answer = self.call("GET", "/records")
        assert answer.status_code == 200, answer.text
        return list(decode_endpoints_strict(answer.content, max_items=10_000))

    def at(self, name: str, record_type: str = "A") -> list[Endpoint]:
        """What it shows at a name under a type."""
        return [
            each
            for each in self.records()
            if canonical_name(each.dns_name) == canonical_name(name) and each.record_type == record_type
        ]

    def targets(self, name: str, record_type: str = "A") -> tuple[str, ...]:
        """The canonical targets at a name; empty if nothing stands there."""
        found = self.at(name, record_type)
        assert len(found) < 2
        return canonical_targets(found[0]) if found else ()

    def adjust(self, endpoints: list[Endpoint]) -> list[Endpoint]:
        """The endpoints as the backend would show them."""
        answer = self.call("POST", "/adjustendpoints", encode_endpoints(endpoints))
        assert answer.status_code == 200, answer.text
        return list(decode_endpoints_strict(answer.content, max_items=10_000))


@pytest.fixture(params=sorted(_SERVERS))
def protocol(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=deep_after(IN_THIS_PROCESS, BACKENDS))
def served(request: pytest.FixtureRequest, protocol: str, tmp_path: Path) -> Iterator[Served]:
    server_type = _SERVERS[protocol]
    with BACKENDS[request.param](tmp_path) as backend:
        server = server_type(backend)
        server.start()
        try:
            application = server_type.application_type
            yield Served(
                server.url, application.media_type, application.applied_status, backend, request.param
            )
        finally:
            server.stop()
