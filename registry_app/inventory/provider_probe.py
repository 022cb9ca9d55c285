"""Ask a registered provider: does it answer, and does it keep its protocol?"""

from dataclasses import dataclass

from django.db import transaction

from providers.client.provider_client import ProviderClient
from providers.conformance.run import run_conformance
from providers.conformance.subject import Report
from providers.http.errors import MalformedAnswer, NotAProvider, ProviderError, RefusedByProvider
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import LeaseLost, NotAllowed, RefusedBySafety
from registry_app.inventory.rows import fetch_row, raise_if_not_administrator
from registry_app.mirror.client import build_client, build_subject
from registry_app.models import Provider
from registry_app.outside_copy import announce_send, count_send
from registry_app.queries.access import may_operate
from registry_app.queries.freeze import find_owner_stops
from registry_app.reconcile.lease import raise_if_lost, release_lease, renew_lease, take_lease
from registry_app.reconcile.sync import name_holder

SAMPLE_SIZE = 20
# Long enough for all requests to a slow provider; a run that dies delays syncs no longer than that.
_LEASE_SECONDS = 600


@dataclass(frozen=True)
class SampleRecord:
    """One record of the preview, as the provider wrote it."""

    name: str
    record_type: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class ConnectionReport:
    """The responses of a provider. `error` is empty if they could be used; `sample` holds up to 20 records.

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

    Raises NotAllowed or NotFound; whatever the provider does wrong is in the report.
    """
    provider = fetch_row(Provider, provider_id)
    _raise_if_may_not_connect(actor, provider)
    try:
        with build_client(provider) as client:
            return _ask(client, provider.max_items)
    except (NotAProvider, RefusedByProvider) as error:
        return ConnectionReport(
            error_code=error.code, error=f"{error}{_find_other_protocol(provider)}", hint=error.hint
        )
    except ProviderError as error:
        return ConnectionReport(error_code=error.code, error=str(error), hint=error.hint)


def check_conformance(actor: Actor, provider_id: int, *, zone: str = "") -> Report:
    """A report of what the provider does. Nothing is written unless `zone` is given: then in that zone, under
    a label of its own, cleaned up at the end, under the provider's lease, with an audit line before.

    Raises NotAllowed, NotFound, SecretUnavailable, ProviderError for an address that we must not connect to,
    RefusedBySafety in a freeze, and LeaseLost where a sync or a transfer is under way.
    """
    provider = fetch_row(Provider, provider_id)
    if zone:
        return _check_by_writing(actor, provider, zone)
    _raise_if_may_not_connect(actor, provider)
    return run_conformance(build_subject(provider))


def _raise_if_may_not_connect(actor: Actor, provider: Provider) -> None:
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not read {provider}.",
            todo="Ask somebody with a grant to operate this provider.",
        )


def _find_other_protocol(provider: Provider) -> str:
    """A sentence if the provider has the other protocol; empty if not."""
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


def _check_by_writing(actor: Actor, provider: Provider, zone: str) -> Report:
    raise_if_not_administrator(actor, "providers")
    for stop in find_owner_stops(provider, in_part=True):
        raise RefusedBySafety(stop.happened, todo=f"{stop.todo} Or check it without writing.", code=stop.code)
    subject = build_subject(provider)
    lease = take_lease(provider.pk, f"conformance {name_holder()}")
    if lease is None:
        raise LeaseLost(
            f"Another worker has {provider} right now.", now="Nothing was written.", todo="Try again soon."
        )
    try:
        lease = renew_lease(lease, seconds=_LEASE_SECONDS)
        with transaction.atomic():
            raise_if_lost(lease)
            record_audit(actor, "provider.conformance_written", provider, after={"zone": zone})
            count_send()
        announce_send()
        return run_conformance(subject, zone=zone, patience=float(provider.read_back_seconds))
    finally:
        release_lease(lease)
