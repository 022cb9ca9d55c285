"""A reference provider that remembers every state its zone was ever in, however briefly."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from providers.backends.memory import ApplyMode, MemoryBackend
from providers.backends.single_change import SingleChange, key_of
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.reference_server import ReferenceProvider
from tests.servers.provider_server import WebhookServer

State = dict[EndpointKey, Endpoint]


class RecordingBackend(MemoryBackend):
    """`states`: the zone at the start, and after each change that anybody could see by itself. `watchers`
    are called after each."""

    def __init__(self, endpoints: Iterable[Endpoint] = (), *, mode: ApplyMode, **values: Any) -> None:
        super().__init__(endpoints, mode=mode, **values)
        self.states: list[State] = [dict(self._contents)]
        self.applied: list[SingleChange] = []
        self.watchers: list[Callable[[], None]] = []

    def restart(self, endpoints: Iterable[Endpoint], *, mode: ApplyMode) -> None:
        """Another zone, as if it had just been made: a server costs more than what it serves."""
        fresh = MemoryBackend(endpoints, mode=mode)
        with self._lock:
            self._mode = mode
            self._contents = self._visible = {key_of(each): each for each in fresh.contents()}
            self.states = [dict(self._contents)]
            self.applied = []

    def _make(self, changes: Sequence[SingleChange], contents: State) -> None:
        if self._mode is ApplyMode.ATOMIC:
            super()._make(changes, contents)
            self.applied += changes
            return
        for change in changes:
            before = dict(contents)
            super()._make([change], contents)
            if contents != before:
                self.applied.append(change)
                self._note(contents)

    def _store(self, contents: State) -> None:
        super()._store(contents)
        self._note(contents)

    def _note(self, contents: State) -> None:
        self.states.append(dict(contents))
        for watch in self.watchers:
            watch()


class RecordingProvider(ReferenceProvider):
    """As the reference provider; `states` and `applied` tell what happened to its zone."""

    def __init__(
        self, endpoints: Iterable[Endpoint] = (), *, mode: ApplyMode = ApplyMode.ATOMIC, **values: Any
    ) -> None:
        super().__init__(endpoints, mode=mode, **values)
        self.recorded = RecordingBackend(endpoints, mode=mode, **values)
        self.backend = self.recorded
        self._server = WebhookServer(self.recorded, observers=(self.history,), faults=self.faults)

    def restart(self, endpoints: Iterable[Endpoint], *, mode: ApplyMode) -> None:
        """Another zone and another past behind the same address."""
        self.faults.clear()
        self.recorded.restart(endpoints, mode=mode)
        self.history.clear()

    def forget(self) -> None:
        """What is recorded from now on begins with the zone as it is."""
        self.history.clear()
        self.recorded.applied.clear()
        del self.recorded.states[:-1]
