"""What a loop is to keep, from its declared endpoints."""

from providers.planning.planned_changes import Policy
from providers.registries.labels import RESOURCE
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.errors import NotFound
from registry_app.loop.loop_request import LoopRequest, parse_managed_types
from registry_app.models import DeclaredEndpoint, Loop

DECLARED = "declared endpoints"


def find_loop(loop_id: int) -> Loop:
    """Raises NotFound."""
    found = (
        Loop.objects.select_related("owner", "provider")
        .defer("provider__secret", "provider__client_key")
        .filter(pk=loop_id)
        .first()
    )
    if found is None:
        raise NotFound(f"There is no loop {loop_id}.", todo="Look it up in the list.")
    return found


def build_request(loop: Loop, confirmation: str = "") -> LoopRequest:
    """A run of this loop as it is declared now."""
    return LoopRequest(
        owner=loop.owner,
        provider=loop.provider,
        desired=fetch_declared(loop),
        source=DECLARED,
        policy=Policy(loop.policy),
        managed_types=parse_managed_types(loop.managed_types),
        loop=loop,
        confirmation=confirmation,
    )


def fetch_declared(loop: Loop) -> tuple[Endpoint, ...]:
    """The declared endpoints, as a source gives them."""
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
