"""Which changes of a request belong together: a record set with the claims for it. Pure.

The rule: a record set and the claims for it are made together or not at all, and where one record set of a
name gives way to another (an A becomes a CNAME), all of that name. A claim that cannot be held, or that is
gone already, is left out alone where another claim of the same record set is made. All else is apart.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

import msgspec

from providers.backends.errors import BackendError, ChangeRefused, Reason, RefusedChange, describe
from providers.backends.single_change import SingleChange
from providers.backends.txt_target import is_claim
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.new_claim import OWNED_RECORD
from providers.registries.txt_names import parse_txt_name
from providers.wire.canonical_name import InvalidName, canonical_name

_T = TypeVar("_T")
# A claim with one of these may go missing where another claim of the record set is made.
_LEFT_OUT_ALONE = {Reason.ABSENT, Reason.CANNOT_HOLD, Reason.CNAME_CONFLICT}
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


class ChangeGroup(msgspec.Struct, frozen=True):
    """Changes that belong together, in the order they are made; `claims` are the places of those that are
    claims for a record set that changes with them."""

    changes: tuple[SingleChange, ...]
    claims: frozenset[int]


def group_changes(changes: Sequence[SingleChange]) -> list[ChangeGroup]:
    """The groups of one request, in the order of their first changes."""
    records: dict[str, list[int]] = {}
    claims: list[int] = []
    for place, change in enumerate(changes):
        if is_claim_change(change):
            claims.append(place)
        else:
            records.setdefault(change.key.name, []).append(place)
    together = _Together(len(changes))
    for places in records.values():
        if _are_one([changes[place] for place in places]):
            together.join(places)
    subordinate: set[int] = set()
    for place in claims:
        owned = _find_owned(changes[place], records, changes)
        together.join([place, *owned])
        if owned:
            subordinate.add(place)
    by_key: dict[object, int] = {}
    for place, change in enumerate(changes):
        together.join([by_key.setdefault(change.key, place), place])
    return [_make_group(places, changes, subordinate) for places in together.groups()]


def settle_group(
    group: ChangeGroup, settle: Callable[[SingleChange], _T]
) -> tuple[list[_T], list[RefusedChange]]:
    """What `settle` makes of each change, and the changes that are left out: by themselves, or all of them
    where they belong together. `settle` raises BackendError."""
    made: dict[int, _T] = {}
    problems: dict[int, BackendError] = {}
    for place in sorted(range(len(group.changes)), key=lambda place: place in group.claims):
        try:
            made[place] = settle(group.changes[place])
        except BackendError as error:
            problems[place] = error
    if not problems or _may_go_without(group, made, problems):
        refused = [RefusedChange(group.changes[place].key, error) for place, error in problems.items()]
        return [made[place] for place in sorted(made)], refused
    first = min(problems)
    return [], refuse_together(group.changes, first, problems)


def refuse_together(
    changes: Sequence[SingleChange], first: int, problems: dict[int, BackendError]
) -> list[RefusedChange]:
    """All changes of a group refused: those with a problem for it, the others because of the first one."""
    because = (
        f"It belongs together with {describe(changes[first].key)}, which cannot be made. "
        "Nothing of the two was applied; put that right first."
    )
    companion = ChangeRefused(because, reason=Reason.BELONGS_TOGETHER)
    return [RefusedChange(change.key, problems.get(place, companion)) for place, change in enumerate(changes)]


def is_claim_change(change: SingleChange) -> bool:
    """Whether a change is one of a claim: it states one, or says which record it is for."""
    endpoint = change.new or change.old
    if endpoint is None or change.key.record_type != "TXT":
        return False
    return bool(endpoint.labels.get(OWNED_RECORD)) or is_claim(endpoint)


def find_subject(change: SingleChange, names: Collection[str]) -> str:
    """The record name that a claim is for, where that is among `names`; else the claim's own name.
    ExternalDNS says which it is; of others it is seen from the claim's name."""
    endpoint = change.new or change.old
    own = change.key.name
    owned = endpoint.labels.get(OWNED_RECORD, "") if endpoint else ""
    if owned:
        try:
            return canonical_name(owned)
        except InvalidName:
            return own
    reading = parse_txt_name(own, DEFAULT_PROFILE)
    if reading is not None and reading.record_name in names:
        return reading.record_name
    return next((name for name in _list_subjects(own) if name in names), own)


def _find_owned(
    change: SingleChange, records: dict[str, list[int]], changes: Sequence[SingleChange]
) -> list[int]:
    """The places of the record sets a claim is for. Where its name does not tell which of several types
    at a name is meant, it is all of them."""
    places = records.get(find_subject(change, records), [])
    same_set = [place for place in places if changes[place].key.set_identifier == change.key.set_identifier]
    places = same_set or places
    words = set(_NOT_A_WORD.split(change.key.name))
    typed = [place for place in places if changes[place].key.record_type.lower() in words]
    if len({changes[place].key.record_type for place in typed}) == 1:
        return typed
    return places


def _are_one(changes: Sequence[SingleChange]) -> bool:
    """Whether the changes at a name make sense only together: one gives way to another, or a CNAME, which
    exists beside nothing, is asked for with others."""
    is_replacement = any(each.new is None for each in changes) and any(each.old is None for each in changes)
    return is_replacement or any(each.key.record_type == "CNAME" and each.new for each in changes)


def _may_go_without(group: ChangeGroup, made: Collection[int], problems: dict[int, BackendError]) -> bool:
    is_claim_made = any(place in group.claims for place in made)
    return is_claim_made and all(
        place in group.claims and error.reason in _LEFT_OUT_ALONE for place, error in problems.items()
    )


def _make_group(
    places: Sequence[int], changes: Sequence[SingleChange], subordinate: Collection[int]
) -> ChangeGroup:
    claims = frozenset(index for index, place in enumerate(places) if place in subordinate)
    return ChangeGroup(tuple(changes[place] for place in places), claims)


def _list_subjects(txt_name: str) -> Iterator[str]:
    """Names that a claim of this name may be for under some prefix or suffix, the longest first. A wrong
    one keeps two changes together that might have gone apart, and nothing more."""
    for start in range(1, len(txt_name)):
        yield txt_name[start:]
    head, _, tail = txt_name.partition(".")
    for text in (head, head.partition("-")[2]):
        for end in range(len(text) - 1, 0, -1):
            yield f"{text[:end]}.{tail}"
    yield f"*.{tail}"


class _Together:
    """Places that belong together: what is joined with one another is one group."""

    def __init__(self, count: int) -> None:
        self._head = list(range(count))

    def join(self, places: Sequence[int]) -> None:
        heads = sorted({self._find(place) for place in places})
        for head in heads[1:]:
            self._head[head] = heads[0]

    def groups(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for place in range(len(self._head)):
            found.setdefault(self._find(place), []).append(place)
        return list(found.values())

    def _find(self, place: int) -> int:
        while self._head[place] != place:
            self._head[place] = self._head[self._head[place]]
            place = self._head[place]
        return place
