"""What loops are to keep: the declared endpoints, as values."""

from collections.abc import Mapping
from dataclasses import dataclass

from providers.registries.labels import RESOURCE
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import DeclaredEndpoint, Loop, Owner, Provider


@dataclass(frozen=True)
class DeclaredSet:
    """All that an owner of dnsadmin's own wants at one provider, and how its loop goes about it.

    `provider_compares`: the loop will ask the provider which property values mean the same.
    """

    policy: str
    managed_types: frozenset[str]
    endpoints: Mapping[EndpointKey, Endpoint]
    provider_compares: bool = False


def fetch_declared_set(owner: Owner, provider: Provider) -> DeclaredSet | None:
    """What an owner's loop here will see to; None where none runs."""
    loop = _running(owner, provider)
    if loop is None:
        return None
    endpoints = {endpoint_key(each): each for each in fetch_declared(loop)}
    compares = provider.protocol == Provider.Protocol.PLUGIN
    return DeclaredSet(loop.policy, frozenset(loop.managed_types), endpoints, provider_compares=compares)


def find_declared_version(owner: Owner, provider: Provider) -> str:
    """Another text whenever the declared set is, or may be, another; empty where no loop runs."""
    loop = _running(owner, provider)
    return "" if loop is None else f"{loop.declared_at} {loop.policy} {sorted(loop.managed_types)}"


def fetch_declared(loop: Loop) -> tuple[Endpoint, ...]:
    """The declared endpoints of a loop, as a source gives them."""
    rows = DeclaredEndpoint.objects.filter(loop=loop).order_by("name", "record_type", "set_identifier")
    return tuple(build_endpoint(row) for row in rows.iterator(chunk_size=2_000))


def build_endpoint(row: DeclaredEndpoint) -> Endpoint:
    """One row as the value that is planned with."""
    return Endpoint(
        dns_name=row.name,
        targets=tuple(row.targets),
        record_type=row.record_type,
        set_identifier=row.set_identifier,
        record_ttl=row.ttl,
        labels={RESOURCE: row.resource} if row.resource else {},
        provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in row.provider_specific),
    )


def _running(owner: Owner, provider: Provider) -> Loop | None:
    return Loop.objects.filter(owner=owner, provider=provider, is_enabled=True).first()
