"""What a loop is to keep, from its declared endpoints."""

from providers.planning.planned_changes import Policy
from registry_app.errors import NotFound
from registry_app.loop.loop_request import LoopRequest, parse_managed_types
from registry_app.models import PROVIDER_SECRETS, Loop
from registry_app.queries.declared import fetch_declared

DECLARED = "declared endpoints"


def find_loop(loop_id: int) -> Loop:
    """Raises NotFound."""
    found = (
        Loop.objects.select_related("owner", "provider").defer(*PROVIDER_SECRETS).filter(pk=loop_id).first()
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
