"""A guard in front of a provider, as instances reach it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from dnsadmin.guard import build_application
from providers.servers.granian_server import GranianServer
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import (
    WEBHOOK_MEDIA_TYPE,
    decode_endpoints_strict,
    encode_change_set,
    encode_endpoints,
)
from registry_app.guard.negotiation import NegotiationCopies
from registry_app.models import GuardEndpoint, Provider
from tests.factories import make_instance, make_owner, make_provider
from tests.reference_server import ReferenceProvider
from tests.registry_app.reconcile.syncing import sync

_ACCEPT = {"Accept": WEBHOOK_MEDIA_TYPE}
_TYPED = {**_ACCEPT, "Content-Type": WEBHOOK_MEDIA_TYPE}


@dataclass
class Guarded:
    """A guard endpoint in front of a reference provider, and the URL its instance is given."""

    endpoint: GuardEndpoint
    reference: ReferenceProvider
    guard_url: str

    @property
    def url(self) -> str:
        return f"{self.guard_url}/{self.endpoint.slug}"

    def get(self, call: str = "", **settings: Any) -> requests.Response:
        """One GET, in one try."""
        headers = {**_ACCEPT, **settings.pop("headers", {})}
        return requests.get(f"{self.url}{call}", headers=headers, timeout=30, **settings)

    def post(self, call: str, body: bytes, **settings: Any) -> requests.Response:
        """One POST, in one try."""
        return requests.post(f"{self.url}{call}", data=body, headers=_TYPED, timeout=30, **settings)

    def read(self) -> list[Endpoint]:
        """What the instance sees."""
        return list(decode_endpoints_strict(self.get("/records").content, max_items=100_000))

    def adjust(self, endpoints: Iterable[Endpoint]) -> requests.Response:
        """What the instance wants."""
        return self.post("/adjustendpoints", encode_endpoints(tuple(endpoints)))

    def apply(self, **changes: tuple[Endpoint, ...]) -> requests.Response:
        """What the instance changes."""
        return self.post("/records", encode_change_set(ChangeSet(**changes)))


@contextmanager
def serve_guard(copies: Path) -> Iterator[str]:
    """The URL of a guard, as the role starts it."""
    server = GranianServer(build_application(NegotiationCopies(copies), most_body_bytes=2**20))
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


@contextmanager
def guarded(
    folder: Path,
    zone: Iterable[Endpoint] = (),
    *,
    domain_filter: DomainFilter | None = None,
    value_exact: bool = True,
    reference_type: type[ReferenceProvider] = ReferenceProvider,
    **values: Any,
) -> Iterator[Guarded]:
    """A guard endpoint of blue-cluster in front of a provider that was synced once."""
    with (
        reference_type(zone, domain_filter=domain_filter, value_exact=value_exact) as reference,
        serve_guard(folder / "copies.json") as url,
    ):
        provider = make_provider(url=reference.url)
        endpoint = make_guard_endpoint(provider, **values)
        sync(provider)
        yield Guarded(endpoint, reference, url)


def make_guard_endpoint(provider: Provider, slug: str = "blue", **values: Any) -> GuardEndpoint:
    """The guard endpoint of an instance of blue-cluster."""
    instance = make_instance(make_owner(f"{slug}-cluster"))
    return GuardEndpoint.objects.create(provider=provider, instance=instance, slug=slug, **values)
