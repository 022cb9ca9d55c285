"""Approvals that lapsed between a person's word and the sending."""

from registry_app.models import Transfer
from registry_app.queries.transfer import needs_other_person


def find_void_approval(transfer: Transfer) -> str:
    """Why an approval given before does not hold any more; empty if it does."""
    approver = transfer.approved_by
    is_other = approver is not None and approver.pk != transfer.requested_by_id
    if needs_other_person(transfer) and not is_other:
        return f"{transfer.provider.name} asks for another person's approval, and there is none."
    answerable = approver if approver is not None else transfer.requested_by
    if answerable is not None and not answerable.is_active:
        return f"{answerable.get_username()}, who answered for it, may not sign in any more."
    return ""
