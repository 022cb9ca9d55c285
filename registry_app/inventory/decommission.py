"""What an owner still owns when it is decommissioned."""

from registry_app.errors import RefusedBySafety
from registry_app.models import Owner
from registry_app.queries.owner_counts import describe_owned


class StillOwns(RefusedBySafety):
    """Record sets would be left with an owner that is no more, and nobody said that this is meant."""

    code = "owner_still_owns"


def raise_if_still_owns(owner: Owner, *, keeps_record_sets: bool) -> str:
    """What stays with the owner, in words; nothing where it owns nothing.

    Raises StillOwns where it owns record sets and `keeps_record_sets` does not say that they stay.
    """
    owned = describe_owned(owner)
    if owned and not keeps_record_sets and owner.status != Owner.Status.DECOMMISSIONED:
        raise StillOwns(
            f"{owner.owner_id} still owns {owned}.",
            todo="Transfer them to another owner, or release them so that nobody owns them. To leave them as "
            "they are, say so (API: keep_record_sets; web admin: Decommission, on the page of the owner): "
            "then no instance changes them, and a transfer can move them later.",
        )
    return f"{owned} stay with it." if owned else ""
