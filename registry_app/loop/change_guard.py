"""The last guard before a change set is stored: nothing but our own, and what nobody has, is in it. Pure."""

from providers.planning.claim_changes import Batch
from providers.planning.plan import PlanSettings
from providers.registries.claim import TXT_REGISTRY, OwnershipState
from providers.registries.labels import parse_labels
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.loop.step_changes import changes_in
from registry_app.mirror.snapshot import Snapshot
from registry_app.mirror.written import Change


def raise_if_touches_more(batch: Batch, snapshot: Snapshot, settings: PlanSettings) -> None:
    """Refuse a change set that does more than create what is not there and change what the owner has.

    Raises ValueError; that it never does is what the tests of the planning show.
    """
    records = {record.key: record for record in snapshot.records}
    places = {place for each in batch.claim_places.values() for place in each}
    ours = {
        claim.raw
        for claim in snapshot.claims
        if claim.registry == TXT_REGISTRY and claim.owner_id == settings.owner_id
    }
    for key, change in changes_in(batch.change_set).items():
        if key in places:
            _raise_if_claim_is_not_ours(key, change, ours)
            continue
        if key not in batch.keys:
            raise ValueError(f"The change set touches {key.name} {key.record_type}, which is not planned.")
        record = records.get(key)
        if change.old is None and record is not None:
            raise ValueError(f"The change set creates {key.name} {key.record_type}, which stands there.")
        is_ours = record is not None and record.state is OwnershipState.OWNED
        is_ours = is_ours and record is not None and record.owner_id == settings.owner_id
        if change.old is not None and settings.has_ownership and not is_ours:
            raise ValueError(f"The change set changes {key.name} {key.record_type}, which is not ours.")


def _raise_if_claim_is_not_ours(key: EndpointKey, change: Change, ours: set[str]) -> None:
    old, new = _targets(change.old), _targets(change.new)
    if not old - new <= ours:
        raise ValueError(f"The change set removes more from {key.name} than claims of ours.")
    plain = [parse_labels(text) for text in new - old]
    if len(plain) > 1 or key.record_type != "TXT":
        raise ValueError(f"The change set writes more to {key.name} than one claim.")


def _targets(endpoint: Endpoint | None) -> set[str]:
    return set(endpoint.targets) if endpoint is not None else set()
