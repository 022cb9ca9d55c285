"""Which of the planned changes go together in one request. Pure."""

from collections.abc import Callable, Collection, Iterator

from providers.planning.planned_changes import PlannedChanges
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey


def list_keys(changes: PlannedChanges) -> Iterator[EndpointKey]:
    """The record sets that a plan changes."""
    yield from (endpoint_key(each) for each in changes.creates)
    yield from (each.current.key for each in changes.updates)
    yield from (each.key for each in changes.deletes)


def take_batch(changes: PlannedChanges, open_keys: Collection[EndpointKey], size: int) -> PlannedChanges:
    """The first changes among `open_keys`: at most `size` record sets, but a whole name at least.

    All that changes at one name goes together: what takes a place there goes with what leaves it, and
    claims of one name may share a TXT record.
    """
    counts: dict[str, int] = {}
    for key in sorted(list_keys(changes)):
        if key in open_keys:
            counts[key.name] = counts.get(key.name, 0) + 1
    chosen: set[str] = set()
    taken = 0
    for name, count in counts.items():
        if chosen and taken + count > size:
            break
        chosen.add(name)
        taken += count
    return _select(changes, lambda key: key.name in chosen and key in open_keys)


def _select(changes: PlannedChanges, is_chosen: Callable[[EndpointKey], bool]) -> PlannedChanges:
    return PlannedChanges(
        creates=tuple(each for each in changes.creates if is_chosen(endpoint_key(each))),
        updates=tuple(each for each in changes.updates if is_chosen(each.current.key)),
        deletes=tuple(each for each in changes.deletes if is_chosen(each.key)),
    )
