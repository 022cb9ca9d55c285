"""A change set taken apart into single changes, each with what is wrong with it already. Pure."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from providers.backends.errors import (
    BackendError,
    ChangeImpossible,
    ChangeRefused,
    Reason,
    RefusedChange,
    describe,
)
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import safe_text

_T = TypeVar("_T")


class SingleChange(msgspec.Struct, frozen=True):
    """One identity from `old` to `new`: no `old` is a create, no `new` is a delete."""

    key: EndpointKey
    old: Endpoint | None
    new: Endpoint | None


class SplitChangeSet(msgspec.Struct, frozen=True):
    """The changes that can be understood, and those that cannot."""

    changes: tuple[SingleChange, ...]
    refused: tuple[RefusedChange, ...]


def split_change_set(change_set: ChangeSet) -> SplitChangeSet:
    """The changes in the order they are made: deletes, updates, creates, each in the order they were sent.

    Deletes come first so that a record set replaced within one batch does not meet itself, or a CNAME its
    successor. Updates are paired by identity, never by position. A name that cannot exist, and a record set
    of which two things are asked, is refused alone: the other changes stay.
    """
    refused: list[RefusedChange] = []
    deletes = _by_key(change_set.delete, "delete", refused)
    creates = _by_key(change_set.create, "create", refused)
    olds = _by_key(change_set.update_old, "updateOld", refused)
    news = _by_key(change_set.update_new, "updateNew", refused)
    contradicted = {each.key for each in refused}
    for key in sorted((olds.keys() ^ news.keys()) - contradicted):
        text = (
            f"{describe(key)} is in only one of updateOld and updateNew. Nothing was applied; the two "
            "belong together, with the same name, type and set identifier."
        )
        refused.append(RefusedChange(key, ChangeRefused(text, reason=Reason.CONTRADICTION)))
    for key in sorted((olds.keys() & news.keys() & (deletes.keys() | creates.keys())) - contradicted):
        text = (
            f"{describe(key)} is updated and also created or deleted in one request. "
            "Nothing was applied; send one change for each record set."
        )
        refused.append(RefusedChange(key, ChangeRefused(text, reason=Reason.CONTRADICTION)))
    out = {each.key for each in refused}
    changes = (
        *(SingleChange(key, old, None) for key, old in deletes.items()),
        *(SingleChange(key, old, news[key]) for key, old in olds.items() if key in news),
        *(SingleChange(key, None, new) for key, new in creates.items()),
    )
    return SplitChangeSet(tuple(each for each in changes if each.key not in out), tuple(refused))


def single_changes(change_set: ChangeSet) -> tuple[SingleChange, ...]:
    """As `split_change_set`, for those who make all or nothing: raises for the first that is refused,
    ChangeImpossible for a name that cannot exist and ChangeRefused for what contradicts itself."""
    split = split_change_set(change_set)
    if split.refused:
        raise split.refused[0].error
    return split.changes


def join_changes(changes: Iterable[SingleChange]) -> ChangeSet:
    """The change set that asks for these changes."""
    create: list[Endpoint] = []
    update_old: list[Endpoint] = []
    update_new: list[Endpoint] = []
    delete: list[Endpoint] = []
    for change in changes:
        if change.old is None and change.new is not None:
            create.append(change.new)
        elif change.old is not None and change.new is not None:
            update_old.append(change.old)
            update_new.append(change.new)
        elif change.old is not None:
            delete.append(change.old)
    return ChangeSet(tuple(create), tuple(update_old), tuple(update_new), tuple(delete))


def is_same_value(one: Endpoint, other: Endpoint) -> bool:
    """True if two endpoints of one identity hold the same targets, TTL and properties, byte for byte.

    Labels are left out: ExternalDNS adds its own to what it read before it sends it back as old.
    """
    return (
        one.record_ttl == other.record_ttl
        and sorted(one.targets) == sorted(other.targets)
        and {(each.name, each.value) for each in one.provider_specific}
        == {(each.name, each.value) for each in other.provider_specific}
    )


def key_of(endpoint: Endpoint) -> EndpointKey:
    """The identity of an endpoint somebody sent. Raises ChangeImpossible where there is none."""
    try:
        key = endpoint_key(endpoint)
    except InvalidName as error:
        raise ChangeImpossible(
            f"The name {safe_text(endpoint.dns_name)!r} in the request cannot exist: {error.reason}. "
            "Nothing was applied.",
            reason=Reason.INVALID,
        ) from error
    if not key.record_type:
        raise ChangeImpossible(
            f"{key.name} was sent without a record type. Nothing was applied.", reason=Reason.INVALID
        )
    return key


def _by_key(
    endpoints: Iterable[Endpoint], list_name: str, refused: list[RefusedChange]
) -> dict[EndpointKey, Endpoint]:
    found: dict[EndpointKey, Endpoint] = {}
    for endpoint in endpoints:
        try:
            key = key_of(endpoint)
        except BackendError as error:
            key = EndpointKey(endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
            refused.append(RefusedChange(key, error))
            continue
        if key in found:
            text = f"{describe(key)} is twice in {list_name}. Nothing was applied; send it once."
            refused.append(RefusedChange(key, ChangeRefused(text, reason=Reason.CONTRADICTION)))
        found[key] = endpoint
    return found


def find_closest_zone(
    key: EndpointKey, zones: Mapping[str, _T], domain_filter: DomainFilter | None = None
) -> _T:
    """What is under the longest zone name (canonical) at or above a record set's name.

    Raises ChangeImpossible where there is none, or where the name is outside the domain filter.
    """
    rest = key.name if domain_filter is None or domain_filter.matches(key.name) else ""
    while rest:
        if rest in zones:
            return zones[rest]
        rest = rest.partition(".")[2]
    raise ChangeImpossible(
        f"{describe(key)} is in none of the zones served here ({', '.join(zones)[:200]}). "
        "Nothing was applied; serve its zone here, or keep the name out with --domain-filter.",
        reason=Reason.OUTSIDE,
    )
