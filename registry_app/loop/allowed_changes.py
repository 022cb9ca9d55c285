"""What a step of a loop may do: create what is not there, and change what its owner has. Pure."""

from providers.planning.claim_changes import Batch
from providers.planning.plan import PlanSettings
from providers.registries.claim import TXT_REGISTRY, OwnershipState
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.writes.allowed_changes import Allowed


def list_allowed_changes(
    batch: Batch, snapshot: Snapshot, settings: PlanSettings
) -> dict[EndpointKey, Allowed]:
    """What may happen to each record set of a batch, and where their claims are."""
    records = {record.key: record for record in snapshot.records}
    allowed: dict[EndpointKey, Allowed] = {}
    for key in batch.keys:
        record = records.get(key)
        is_ours = (
            record is not None
            and record.state is OwnershipState.OWNED
            and record.owner_id == settings.owner_id
        )
        allowed[key] = Allowed(may_create=record is None, may_change=is_ours or not settings.has_ownership)
    ours = {
        claim.raw
        for claim in snapshot.claims
        if claim.registry == TXT_REGISTRY and claim.owner_id == settings.owner_id
    }
    claim = Allowed(removable=ours, most_added=1, is_text=True)
    return allowed | {place: claim for places in batch.claim_places.values() for place in places}
