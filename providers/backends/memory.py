"""A DNS service that lives in memory, and can behave like the stricter and the sloppier ones people run."""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from enum import StrEnum

from providers.backends.backend import Capabilities
from providers.backends.errors import ChangeImpossible, ChangeRefused
from providers.backends.single_change import (
    SingleChange,
    describe,
    is_same_value,
    key_of,
    raise_if_unfit,
    single_changes,
)
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_Contents = dict[EndpointKey, Endpoint]

# Each state that is not yet visible is a copy of the contents; past this many the oldest becomes visible.
_MOST_UNSEEN_STATES = 100


class ApplyMode(StrEnum):
    """How a change set is applied."""

    ATOMIC = "atomic"  # all or nothing
    SEQUENTIAL = "sequential"  # one by one; the first wrong one stops it, the earlier ones stay
    SKIP_UNMATCHED = "skip_unmatched"  # what fits nothing is left out, and the answer is still success


class MemoryBackend:
    """Endpoints in memory, kept exactly as they were given, in the order they came.

    `value_exact`: `updateOld` and `delete` must equal what is held (under SKIP_UNMATCHED: or are skipped).
    `reads_until_visible`: a change is shown only after that many reads, as with a slow provider; what a
    change must fit is always the true contents, not the shown ones.
    """

    def __init__(
        self,
        endpoints: Iterable[Endpoint] = (),
        *,
        mode: ApplyMode = ApplyMode.ATOMIC,
        value_exact: bool = True,
        domain_filter: DomainFilter | None = None,
        reads_until_visible: int = 0,
    ) -> None:
        self._lock = threading.Lock()
        self._mode = mode
        self._value_exact = value_exact
        self._domain_filter = domain_filter or DomainFilter()
        self._reads_until_visible = reads_until_visible
        self._contents: _Contents = {}
        for endpoint in endpoints:
            key = key_of(endpoint)
            if key in self._contents:
                raise ChangeRefused(f"{describe(key)} stands twice in what the memory backend starts with.")
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
        changes = single_changes(change_set)
        self._raise_if_outside(changes)
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

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return previous == current

    def domain_filter(self) -> DomainFilter:
        return self._domain_filter

    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic=self._mode is ApplyMode.ATOMIC,
            value_exact=self._value_exact,
            ordered=True,
            immediate=self._reads_until_visible == 0,
            set_identifiers=True,
            provider_specific=True,
        )

    def _make(self, changes: Sequence[SingleChange], contents: _Contents) -> None:
        for position, change in enumerate(changes):
            held = contents.get(change.key)
            if self._is_skipped(change, held):
                continue
            try:
                raise_if_unfit(change, held, value_exact=self._value_exact)
            except ChangeRefused as error:
                stays = position if self._mode is ApplyMode.SEQUENTIAL else 0
                raise ChangeRefused(f"{error} {stays} of {len(changes)} changes were applied.") from error
            if change.new is None:
                del contents[change.key]
            else:
                contents[change.key] = change.new

    def _is_skipped(self, change: SingleChange, held: Endpoint | None) -> bool:
        if self._mode is not ApplyMode.SKIP_UNMATCHED or change.old is None:
            return False
        return held is None or (self._value_exact and not is_same_value(held, change.old))

    def _store(self, contents: _Contents) -> None:
        self._contents = contents
        if self._reads_until_visible == 0:
            self._visible = contents
            return
        if len(self._unseen) == _MOST_UNSEEN_STATES:
            self._visible = self._unseen.popleft()[1]
        self._unseen.append((self._reads + self._reads_until_visible, contents))

    def _raise_if_outside(self, changes: Sequence[SingleChange]) -> None:
        for change in changes:
            if not self._domain_filter.matches(change.key.name):
                raise ChangeImpossible(
                    f"{describe(change.key)} is outside the domains served here. Nothing was applied."
                )
