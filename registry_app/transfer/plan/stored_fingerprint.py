"""The fingerprint of a transfer's rows as they stand now."""

from registry_app.models import Transfer
from registry_app.transfer.plan.fingerprint import PlanHead, compute_fingerprint


def compute_stored_fingerprint(transfer: Transfer) -> str:
    """What was reviewed has this fingerprint, unless a row was edited since (I8)."""
    head = PlanHead(
        kind=transfer.kind,
        provider_id=transfer.provider_id,
        source_owner_id=transfer.source_owner.owner_id if transfer.source_owner else "",
        target_owner_id=transfer.target_owner.owner_id if transfer.target_owner else "",
        target_intent=transfer.target_intent,
        preconditions=transfer.preconditions,
    )
    return compute_fingerprint(head, transfer.items.order_by("ordinal").iterator(chunk_size=2_000))
