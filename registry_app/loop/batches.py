"""Which of the planned changes go together in one request. Pure."""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from providers.planning.planned_changes import PlannedChanges
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey


def list_keys(changes: PlannedChanges) -> Iterator[EndpointKey]:
    """The record sets that a plan changes."""
    yield from (endpoint_key(each) for each in changes.creates)
    yield from (each.current.key for each in changes.updates)
    yield from (each.key for each in changes.deletes)


def cut_into_batches(keys: Iterable[EndpointKey], size: int) -> list[tuple[EndpointKey, ...]]:
    """At most `size` record sets each, but a whole name at least.

    All that changes at one name goes together: what takes a place there goes with what leaves it, and
    claims of one name may share a TXT record.
    """
    batches: list[list[EndpointKey]] = []
    for _, at_one_name in groupby(sorted(keys), key=lambda key: key.name):
        group = list(at_one_name)
        if not batches or len(batches[-1]) + len(group) > size:
            batches.append([])
        batches[-1] += group
    return [tuple(batch) for batch in batches]


def select_changes(changes: PlannedChanges, keys: Collection[EndpointKey]) -> PlannedChanges:
    """Those of the planned changes that are about these record sets."""
    chosen = frozenset(keys)
    return PlannedChanges(
        creates=tuple(each for each in changes.creates if endpoint_key(each) in chosen),
        updates=tuple(each for each in changes.updates if each.current.key in chosen),
        deletes=tuple(each for each in changes.deletes if each.key in chosen),
    )
