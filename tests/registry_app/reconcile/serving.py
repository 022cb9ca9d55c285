"""A provider that says one thing at one sync and another at the next."""

from collections.abc import Iterable

from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from registry_app.models import Provider, SyncRun
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider
from tests.registry_app.reconcile.syncing import sync


def serve(
    provider: Provider, endpoints: Iterable[Endpoint], *, domain_filter: DomainFilter | None = None
) -> SyncRun:
    """Let a provider say this, at whatever address, and sync it once."""
    with ReferenceProvider(endpoints, domain_filter=domain_filter) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        return sync(provider)


def serve_body(provider: Provider, body: bytes) -> SyncRun:
    """As `serve`, with a body that no backend would write."""
    with ReferenceProvider() as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        reference.faults.plan("GET /records", read_faults.body(body))
        return sync(provider)
