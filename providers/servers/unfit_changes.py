"""What no reader of a zone could take, left out of a change set with all that belongs to it."""

from providers.backends.change_groups import group_changes, settle_group
from providers.backends.errors import ChangeImpossible, Reason, RefusedChange
from providers.backends.single_change import SingleChange, describe, join_changes, split_change_set
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import find_poison, safe_text


def leave_out_unfit(change_set: ChangeSet) -> tuple[ChangeSet, tuple[RefusedChange, ...]]:
    """The change set without what must not be held, and what was left out. What is to go may be as odd as it
    is."""
    if not any(map(find_poison, (*change_set.create, *change_set.update_new))):
        return change_set, ()
    split = split_change_set(change_set)
    refused = list(split.refused)
    kept: list[SingleChange] = []
    for group in group_changes(split.changes):
        fit, left_out = settle_group(group, _check)
        kept += fit
        refused += left_out
    return join_changes(kept), tuple(refused)


def find_unfit(endpoint: Endpoint) -> ChangeImpossible | None:
    """Why an endpoint must not be held, or None."""
    poison = find_poison(endpoint)
    if poison is None:
        return None
    key = EndpointKey(
        safe_text(endpoint.dns_name), safe_text(endpoint.record_type), safe_text(endpoint.set_identifier)
    )
    return ChangeImpossible(
        f"{describe(key)}: it cannot be held, because of its {poison.field or 'size'}: {poison.reason}. "
        "Nothing was applied.",
        reason=Reason.INVALID,
    )


def _check(change: SingleChange) -> SingleChange:
    problem = find_unfit(change.new) if change.new is not None else None
    if problem is not None:
        raise problem
    return change
