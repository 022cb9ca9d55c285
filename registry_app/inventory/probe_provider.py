"""Test the connection to a provider: ask what ExternalDNS would ask, and change nothing."""

from dataclasses import dataclass

from providers.client.provider_client import ProviderClient
from providers.http.errors import MalformedAnswer, NotAProvider, ProviderError, RefusedByProvider
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.actor import Actor
from registry_app.errors import NotAllowed
from registry_app.inventory.rows import fetch_row
from registry_app.mirror.client import build_client
from registry_app.models import Provider
from registry_app.queries.access import may_operate

SAMPLE_SIZE = 20


@dataclass(frozen=True)
class SampleRecord:
    """One record of the preview, as the provider wrote it."""

    name: str
    record_type: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class ConnectionReport:
    """What a provider answered. `error` is empty when all went well; `sample` holds up to 20 records.

    `said_filters` is set where the provider spelled its filter `filters`, which ExternalDNS does not read.
    """

    error_code: str = ""
    error: str = ""
    hint: str = ""
    domain_filter: tuple[str, ...] = ()
    said_filters: bool = False
    has_protocol_type: bool = True
    record_count: int = 0
    set_aside_count: int = 0
    seconds: float = 0.0
    sample: tuple[SampleRecord, ...] = ()

    @property
    def is_ok(self) -> bool:
        return not self.error


def probe_provider(actor: Actor, provider_id: int) -> ConnectionReport:
    """Negotiate with a provider and read its records once. Neither rows nor the provider change.

    Raises NotAllowed or NotFound; whatever the provider does wrong is told in the report.
    """
    provider = fetch_row(Provider, provider_id)
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not visit {provider}.",
            todo="Ask somebody who operates this provider.",
        )
    try:
        with build_client(provider) as client:
            return _ask(client, provider.max_items)
    except (NotAProvider, RefusedByProvider) as error:
        return ConnectionReport(
            error_code=error.code, error=f"{error}{_try_the_other(provider)}", hint=error.hint
        )
    except ProviderError as error:
        return ConnectionReport(error_code=error.code, error=str(error), hint=error.hint)


def _try_the_other(provider: Provider) -> str:
    """Whether the other protocol is spoken there, as a sentence; empty if not."""
    protocols = Provider.Protocol
    other = protocols.WEBHOOK if provider.protocol == protocols.PLUGIN else protocols.PLUGIN
    provider.protocol = other  # of this copy; nothing is saved
    try:
        with build_client(provider) as client:
            client.negotiate()
    except ProviderError:
        return ""
    return f" It speaks the {other.value} protocol: change the provider's protocol to that."


def _ask(client: ProviderClient, max_items: int) -> ConnectionReport:
    parsed = client.negotiate()
    answer = client.records()
    try:
        decoded = decode_records(answer.body, max_items=max_items)
    except WireError as error:
        raise MalformedAnswer(f"The records cannot be read: {error}") from error
    domain_filter = parsed.filter
    return ConnectionReport(
        domain_filter=(*domain_filter.include, *(f"not {name}" for name in domain_filter.exclude)),
        said_filters=parsed.said_filters,
        has_protocol_type=answer.content_type == client.media_type,
        record_count=len(decoded.endpoints),
        set_aside_count=len(decoded.set_aside),
        seconds=answer.seconds,
        sample=tuple(
            SampleRecord(endpoint.dns_name, endpoint.record_type, endpoint.targets)
            for endpoint in decoded.endpoints[:SAMPLE_SIZE]
        ),
    )
