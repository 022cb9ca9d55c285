"""A change set taken apart into single changes, and what makes one of them wrong. Pure."""

from collections.abc import Iterable

import msgspec

from providers.backends.errors import ChangeImpossible, ChangeRefused
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey


class SingleChange(msgspec.Struct, frozen=True):
    """One identity from `old` to `new`: no `old` is a create, no `new` is a delete."""

    key: EndpointKey
    old: Endpoint | None
    new: Endpoint | None


def single_changes(change_set: ChangeSet) -> tuple[SingleChange, ...]:
    """The changes in the order they are made: deletes, updates, creates, each in the order they were sent.

    Deletes come first so that a record set replaced within one batch does not meet itself, or a CNAME its
    successor. Updates are paired by identity, never by position. Raises ChangeImpossible for a name that
    cannot exist and ChangeRefused for a batch that contradicts itself.
    """
    deletes = _by_key(change_set.delete, "delete")
    creates = _by_key(change_set.create, "create")
    olds = _by_key(change_set.update_old, "updateOld")
    news = _by_key(change_set.update_new, "updateNew")
    unpaired = sorted(olds.keys() ^ news.keys())
    if unpaired:
        raise ChangeRefused(
            f"{describe(unpaired[0])} stands in only one of updateOld and updateNew. Nothing was applied; "
            "the two belong together, with the same name, type and set identifier."
        )
    twice = sorted(olds.keys() & (deletes.keys() | creates.keys()))
    if twice:
        raise ChangeRefused(
            f"{describe(twice[0])} is updated and also created or deleted in one request. "
            "Nothing was applied; send one change for each record set."
        )
    return (
        *(SingleChange(key, old, None) for key, old in deletes.items()),
        *(SingleChange(key, old, news[key]) for key, old in olds.items()),
        *(SingleChange(key, None, new) for key, new in creates.items()),
    )


def raise_if_unfit(change: SingleChange, held: Endpoint | None, *, value_exact: bool) -> None:
    """Raise ChangeRefused unless the change fits what is held at its identity."""
    if change.old is None:
        if held is not None:
            raise ChangeRefused(f"{describe(change.key)} already exists, so it cannot be created.")
        return
    if held is None:
        raise ChangeRefused(f"{describe(change.key)} does not exist, so it cannot be changed or deleted.")
    if value_exact and not is_same_value(held, change.old):
        raise ChangeRefused(
            f"{describe(change.key)} does not have the value the request calls old. "
            "Read the records again and build the change from what they say."
        )


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
            f"A name in the request cannot exist: {error.reason}. Nothing was applied."
        ) from error
    if not key.record_type:
        raise ChangeImpossible(f"{key.name} was sent without a record type. Nothing was applied.")
    return key


def describe(key: EndpointKey) -> str:
    """A record set in words for an error, such as `A www.example.org` or `A www.example.org (set eu)`."""
    text = f"{key.record_type} {key.name}"
    return f"{text} (set {key.set_identifier})" if key.set_identifier else text


def _by_key(endpoints: Iterable[Endpoint], list_name: str) -> dict[EndpointKey, Endpoint]:
    found: dict[EndpointKey, Endpoint] = {}
    for endpoint in endpoints:
        key = key_of(endpoint)
        if key in found:
            raise ChangeRefused(
                f"{describe(key)} stands twice in {list_name}. Nothing was applied; send it once."
            )
        found[key] = endpoint
    return found
