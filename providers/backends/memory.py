"""A DNS service that lives in memory, and can behave like the stricter and the sloppier ones people run."""

import argparse
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path

from providers.backends.backend import Backend, BackendOptions
from providers.backends.change_groups import group_changes, settle_group
from providers.backends.errors import ChangeImpossible, ChangeRefused, Outcome, Reason, describe
from providers.backends.old_value import OldValues
from providers.backends.single_change import (
    SingleChange,
    is_same_value,
    key_of,
    single_changes,
    split_change_set,
)
from providers.backends.txt_target import meaningful_properties
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.json_codec import decode_endpoints_strict

_Contents = dict[EndpointKey, Endpoint]
_Settle = Callable[[SingleChange, Endpoint | None], Endpoint | None]

# Each state that is not yet visible is a copy of the contents; past this many the oldest becomes visible.
_MOST_UNSEEN_STATES = 100
_MOST_SEED_ITEMS = 1_000_000


class ApplyMode(StrEnum):
    """How a change set is applied."""

    ATOMIC = "atomic"  # all or nothing
    SEQUENTIAL = "sequential"  # one by one; the first wrong one stops it, the earlier ones stay
    SKIP_UNMATCHED = "skip_unmatched"  # what fits nothing is left out, and the answer is still success
    EACH = "each"  # what can be made is made, as our other backends do it; the rest is answered with an error


class MemoryBackend(Backend):
    """Endpoints in memory, kept exactly as they were given, in the order they came.

    `updateOld` and `delete` are compared with what is held (under SKIP_UNMATCHED what differs is skipped) by
    meaning, as our other backends do; with `value_exact` true byte for byte, as value-matching services do;
    with false not at all. `encryption_keys` open encrypted claims, to compare them by meaning.
    `reads_until_visible`: a change is shown only after that many reads, as with a slow provider; what a
    change must fit is always the true contents, not the shown ones.
    """

    def __init__(
        self,
        endpoints: Iterable[Endpoint] = (),
        *,
        mode: ApplyMode = ApplyMode.ATOMIC,
        value_exact: bool | None = None,
        domain_filter: DomainFilter | None = None,
        reads_until_visible: int = 0,
        encryption_keys: Sequence[bytes] = (),
    ) -> None:
        self._lock = threading.Lock()
        self._mode = mode
        self._is_compared = value_exact is not False
        self._settle = _make_settle(encryption_keys, value_exact=value_exact)
        self._domain_filter = domain_filter or DomainFilter()
        self._reads_until_visible = reads_until_visible
        self._contents: _Contents = {}
        for endpoint in endpoints:
            key = key_of(endpoint)
            if key in self._contents:
                raise ChangeRefused(
                    f"{describe(key)} is twice in the endpoints that the memory backend starts with."
                )
            self._contents[key] = endpoint
        self._visible = self._contents
        self._shown: tuple[_Contents, tuple[Endpoint, ...]] | None = None
        self._unseen: deque[tuple[int, _Contents]] = deque()
        self._reads = 0

    def records(self) -> Sequence[Endpoint]:
        with self._lock:
            while self._unseen and self._unseen[0][0] <= self._reads:
                self._visible = self._unseen.popleft()[1]
            self._reads += 1
            if self._shown is None or self._shown[0] is not self._visible:
                self._shown = self._visible, tuple(self._visible.values())
            # The same tuple for the same state, so that a server may know it again.
            return self._shown[1]

    def contents(self) -> Sequence[Endpoint]:
        """What is true now, shown to readers or not."""
        with self._lock:
            return list(self._contents.values())

    def apply(self, change_set: ChangeSet) -> None:
        if self._mode is ApplyMode.EACH:
            self._apply_each(change_set)
            return
        changes = single_changes(change_set)
        for change in changes:
            self._raise_if_outside(change.key)
        with self._lock:
            contents = dict(self._contents)
            try:
                self._make(changes, contents)
            except ChangeRefused:
                if self._mode is ApplyMode.SEQUENTIAL:
                    self._store(contents)
                raise
            self._store(contents)

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        return endpoints

    def find_problems(self, endpoints: Sequence[Endpoint]) -> Sequence[ChangeImpossible | None]:
        return [self._find_problem(endpoint) for endpoint in endpoints]

    def domain_filter(self) -> DomainFilter:
        return self._domain_filter

    def _apply_each(self, change_set: ChangeSet) -> None:
        split = split_change_set(change_set)
        outcome = Outcome(split.refused)
        with self._lock:
            contents = dict(self._contents)
            for group in group_changes(split.changes):
                after: dict[EndpointKey, Endpoint | None] = {}
                made, refused = settle_group(group, partial(self._settle_in, contents, after))
                outcome.refused += refused
                outcome.made += len(made)
                for key, endpoint in made:
                    _put(contents, key, endpoint)
            self._store(contents)
        outcome.raise_if_refused()

    def _settle_in(
        self, contents: _Contents, group: dict[EndpointKey, Endpoint | None], change: SingleChange
    ) -> tuple[EndpointKey, Endpoint | None]:
        """What is there after a change, and after those of its group that were settled before it."""
        self._raise_if_outside(change.key)
        held = group[change.key] if change.key in group else contents.get(change.key)
        group[change.key] = self._settle(change, held)
        return change.key, group[change.key]

    def _make(self, changes: Sequence[SingleChange], contents: _Contents) -> None:
        for position, change in enumerate(changes):
            try:
                after = self._settle(change, contents.get(change.key))
            except ChangeRefused as error:
                if self._mode is ApplyMode.SKIP_UNMATCHED and change.old is not None:
                    continue
                stays = position if self._mode is ApplyMode.SEQUENTIAL else 0
                raise ChangeRefused(
                    f"{error} {stays} of {len(changes)} changes were applied.", reason=error.reason
                ) from error
            _put(contents, change.key, after)

    def _store(self, contents: _Contents) -> None:
        self._contents = contents
        if self._reads_until_visible == 0:
            self._visible = contents
            return
        if len(self._unseen) == _MOST_UNSEEN_STATES:
            self._visible = self._unseen.popleft()[1]
        self._unseen.append((self._reads + self._reads_until_visible, contents))

    def _find_problem(self, endpoint: Endpoint) -> ChangeImpossible | None:
        try:
            self._raise_if_outside(key_of(endpoint))
        except ChangeImpossible as error:
            return error
        return None

    def _raise_if_outside(self, key: EndpointKey) -> None:
        if not self._domain_filter.matches(key.name):
            raise ChangeImpossible(
                f"{describe(key)} is outside the domains served here. Nothing was applied.",
                reason=Reason.OUTSIDE,
            )


def _put(contents: _Contents, key: EndpointKey, endpoint: Endpoint | None) -> None:
    if endpoint is None:
        contents.pop(key, None)
    else:
        contents[key] = endpoint


def _make_settle(encryption_keys: Sequence[bytes], *, value_exact: bool | None) -> _Settle:
    if value_exact:
        return _settle_exactly
    by_meaning = OldValues(encryption_keys, properties=meaningful_properties).settle
    return by_meaning if value_exact is None else partial(_settle_any, by_meaning)


def _settle_any(by_meaning: _Settle, change: SingleChange, held: Endpoint | None) -> Endpoint | None:
    """As services do that overwrite what somebody else changed in the meantime."""
    try:
        return by_meaning(change, held)
    except ChangeRefused as error:
        if error.reason is not Reason.OLD_VALUE:
            raise
        return change.new


def _settle_exactly(change: SingleChange, held: Endpoint | None) -> Endpoint | None:
    """As services do that know nothing of claims: what is held counts letter by letter."""
    if change.old is None and held is not None:
        raise ChangeRefused(
            f"{describe(change.key)} already exists, so it cannot be created.", reason=Reason.EXISTS
        )
    if change.old is not None and held is None:
        raise ChangeRefused(
            f"{describe(change.key)} does not exist, so it cannot be changed or deleted.",
            reason=Reason.ABSENT,
        )
    if change.old is not None and held is not None and not is_same_value(held, change.old):
        raise ChangeRefused(
            f"{describe(change.key)} does not have the value the request calls old. Read the records "
            "again and build the change from them."
        )
    return change.new


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it begins with, and how it behaves."""
    parser.add_argument("--seed", type=Path, metavar="FILE", help="endpoints to begin with, a JSON array")
    parser.add_argument(
        "--mode",
        type=ApplyMode,
        choices=list(ApplyMode),
        default=ApplyMode.EACH,
        help="how a change set is applied; all but each imitate other providers (%(default)s)",
    )
    parser.add_argument(
        "--any-old-value", action="store_true", help="do not compare updateOld and delete with what is held"
    )


def build(options: BackendOptions) -> Backend:
    """The backend. Raises WireError for a seed that cannot be read."""
    seed: Path | None = options.own.seed
    endpoints = decode_endpoints_strict(seed.read_bytes(), max_items=_MOST_SEED_ITEMS) if seed else ()
    return MemoryBackend(
        endpoints,
        mode=options.own.mode,
        value_exact=False if options.own.any_old_value else None,
        domain_filter=options.domain_filter,
        encryption_keys=options.encryption_keys,
    )
