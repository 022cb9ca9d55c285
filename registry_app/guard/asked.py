"""What a change set asks for, place by place. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from providers.registries.claim_reading import read_statement
from providers.registries.gather import Record
from providers.wire.canonical_name import InvalidName, canonical_targets, endpoint_key, has_second_reading
from providers.wire.change_set import ChangeSet, merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import find_poison, safe_text
from registry_app.writes.read_back import is_same_text

_TXT = "TXT"
_MOST_SHOWN = 5


@dataclass(frozen=True)
class Unreadable:
    """An endpoint whose name, type or values cannot be judged. `name` is safe to show."""

    name: str
    reason: str


@dataclass(frozen=True)
class Side:
    """One side of a change: an endpoint, of a TXT record set apart which of its targets are claims."""

    endpoint: Endpoint
    claims: tuple[str, ...] = ()

    @cached_property
    def rest(self) -> tuple[str, ...]:
        """The targets that are no claims."""
        return tuple(target for target in self.endpoint.targets if target not in self.claims)

    @property
    def is_record(self) -> bool:
        """Whether there is more than claims."""
        return bool(self.rest) or not self.claims


@dataclass(frozen=True)
class AskedChange:
    """One place from `old` to `new`, as the instance asks; None: nothing is there. `problem` says why it
    asks for two things at once; else it is empty."""

    key: EndpointKey
    old: Side | None
    new: Side | None
    problem: str = ""

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(side for side in (self.old, self.new) if side is not None)

    @property
    def has_claims(self) -> bool:
        return any(side.claims for side in self.sides)

    @property
    def is_record(self) -> bool:
        """Whether it changes more than claims."""
        return any(side.is_record for side in self.sides)

    @property
    def is_retarget(self) -> bool:
        """Whether what is there gets other targets."""
        if self.old is None or self.new is None:
            return False
        return canonical_targets(self.old.endpoint) != canonical_targets(self.new.endpoint)

    def describe(self) -> str:
        """In a few words, for a person."""
        kind = self.key.record_type
        if self.new is None:
            return f"delete {kind}"
        shown = ", ".join(map(safe_text, self.new.rest[:_MOST_SHOWN]))
        return f"{'create' if self.old is None else 'update'} {kind} to {shown or 'nothing'}"


def read_change_set(
    change_set: ChangeSet, keys: Collection[bytes]
) -> tuple[dict[EndpointKey, AskedChange], list[Unreadable]]:
    """The changes by identity, and what cannot be judged. `keys` are those that claims may be encrypted
    with.

    An update is paired by identity, never by position.
    """
    lists = (change_set.create, change_set.update_old, change_set.update_new, change_set.delete)
    unreadable: list[Unreadable] = []
    create, old, new, delete = (_group(each, unreadable) for each in lists)
    ordered = sorted(keys)
    changes = {}
    for key in dict.fromkeys((*delete, *old, *new, *create)):
        before, after = old.get(key) or delete.get(key), new.get(key) or create.get(key)
        changes[key] = AskedChange(
            key,
            _make_side(key, before, ordered),
            _make_side(key, after, ordered),
            _find_problem(key in create, key in old, key in new, key in delete)
            or ("It has no targets." if after and not any(each.targets for each in after) else ""),
        )
    return changes, unreadable


def _group(endpoints: Iterable[Endpoint], unreadable: list[Unreadable]) -> dict[EndpointKey, list[Endpoint]]:
    found: dict[EndpointKey, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        reason = _find_reason_not_to_read(endpoint)
        if reason:
            unreadable.append(Unreadable(safe_text(endpoint.dns_name) or "?", reason))
        else:
            found[endpoint_key(endpoint)].append(endpoint)
    return found


def _find_reason_not_to_read(endpoint: Endpoint) -> str:
    poison = find_poison(endpoint)
    if poison is not None:
        return f"It has {poison.reason}."
    if not endpoint.record_type or endpoint.record_type != endpoint.record_type.upper():
        return "Its record type is not in upper case."
    try:
        is_ambiguous = has_second_reading(endpoint.dns_name)
    except InvalidName as error:
        return f"Its name cannot be used: {error.reason}."
    return "Other programs read this spelling as another name." if is_ambiguous else ""


def _make_side(key: EndpointKey, parts: Sequence[Endpoint] | None, keys: Sequence[bytes]) -> Side | None:
    if not parts:
        return None
    endpoint = merge_parts(parts)
    if key.record_type != _TXT:
        return Side(endpoint)
    record = Record(key, endpoint, 0)
    return Side(
        endpoint, tuple(target for target in endpoint.targets if read_statement(record, target, keys))
    )


def _find_problem(is_created: bool, is_old: bool, is_new: bool, is_deleted: bool) -> str:  # noqa: FBT001 - one of each list
    if is_old != is_new:
        return "An update has an old and a new value; one of them is missing."
    if sum((is_created, is_new, is_deleted)) > 1:
        return "One record set is in two of the lists."
    return ""


def is_unchanged(live: Endpoint | None, new: Endpoint | None) -> bool:
    """Whether sending `new` would change nothing. Texts are compared by letter: a claim may be encrypted."""
    if live is None or new is None:
        return live is new
    is_text = live.record_type.upper() == _TXT
    same_targets = (
        is_same_text(live.targets, new.targets)
        if is_text
        else canonical_targets(live) == canonical_targets(new)
    )
    return (
        same_targets
        and new.record_ttl in (0, live.record_ttl)
        and set(live.provider_specific) == set(new.provider_specific)
    )


def with_targets(endpoint: Endpoint, targets: Sequence[str]) -> Endpoint:
    """The endpoint with other targets."""
    return msgspec.structs.replace(endpoint, targets=tuple(targets))
