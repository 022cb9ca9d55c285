"""One process of ExternalDNS, loop by loop."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self

from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from tests.external_dns.connection import FatalError, ProviderConnection, SoftError
from tests.external_dns.plan import Changes, compute_changes
from tests.external_dns.record import Record, sort_targets
from tests.external_dns.settings import Settings, Version
from tests.external_dns.txt_registry import TxtRegistry


class Outcome(StrEnum):
    """What became of a start or a loop."""

    STARTED = "started"
    QUIET = "quiet"  # nothing to change, nothing sent
    CHANGED = "changed"  # a change set was sent, and answered with success
    SOFT_ERROR = "soft error"  # a 5xx: the next loop tries again
    DEAD = "dead"  # anything else: the process ended


@dataclass(frozen=True)
class Result:
    """What became of a start or a loop, why, and the change set that was sent, whatever was answered."""

    outcome: Outcome
    reason: str = ""
    sent: ChangeSet = field(default_factory=ChangeSet)


class Instance:
    """`start()` it, then `run_once()` is one loop. It wants what `desired` holds at that time.

    An error that ends the process makes it dead until it is started again: `is_alive`, `last_result`.
    """

    def __init__(
        self,
        settings: Settings,
        desired: Iterable[Endpoint] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.desired = list(desired)
        self.is_alive = False
        self.last_result: Result | None = None
        self._clock = clock
        self._connection = ProviderConnection(settings)
        self._registry = self._make_registry()
        self._provider_filter = DomainFilter()
        self._sent = ChangeSet()

    def start(self) -> Result:
        """A new process: nothing is remembered, and the provider is asked for its domain filter."""
        self.stop()
        self._connection = ProviderConnection(self.settings)
        self._registry = self._make_registry()
        try:
            self._provider_filter = self._connection.negotiate()
        except FatalError as error:
            return self._finish(Outcome.DEAD, str(error))
        return self._finish(Outcome.STARTED)

    def stop(self) -> None:
        """End the process. Idempotent."""
        self.is_alive = False
        self._connection.close()

    def run_once(self) -> Result:
        """One loop."""
        if not self.is_alive:
            raise RuntimeError("This instance does not run. Start it first.")
        self._sent = ChangeSet()
        try:
            changes = self._plan()
            if changes.is_empty:
                return self._finish(Outcome.QUIET)
            changes = self._registry.add_claims(changes)
            self._sent = _to_change_set(changes)
            self._connection.send(changes)
        except SoftError as error:
            return self._finish(Outcome.SOFT_ERROR, str(error))
        except FatalError as error:
            return self._finish(Outcome.DEAD, str(error))
        return self._finish(Outcome.CHANGED)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _plan(self) -> Changes:
        current = self._registry.fetch_records()
        desired = self._connection.adjust(deduplicate(self.desired, self.settings.version))
        return compute_changes(current, map(Record.of, desired), self.settings, self._is_in_reach)

    def _is_in_reach(self, name: str) -> bool:
        return self.settings.domain_filter.matches(name) and self._provider_filter.matches(name)

    def _make_registry(self) -> TxtRegistry:
        return TxtRegistry(self.settings, self._connection.fetch_records, self._clock)

    def _finish(self, outcome: Outcome, reason: str = "") -> Result:
        self.is_alive = outcome is not Outcome.DEAD
        if not self.is_alive:
            self._connection.close()
        sent = ChangeSet() if outcome is Outcome.STARTED else self._sent
        self.last_result = Result(outcome, reason, sent)
        return self.last_result


def start_instance(base_url: str, owner_id: str, desired: Iterable[Endpoint] = ()) -> Instance:
    """A running instance with the default flags."""
    instance = Instance(Settings(base_url, owner_id), desired)
    instance.start()
    return instance


def deduplicate(desired: Iterable[Endpoint], version: Version = Version.CURRENT) -> list[Record]:
    """What the sources make of their endpoints before they are posted: several targets are sorted and each
    is there once, and so is each endpoint. Of properties with a slash a webhook gets its own alone."""
    found: dict[tuple[str, str, str, str], Record] = {}
    for endpoint in desired:
        record = Record.of(endpoint)
        if len(record.targets) > 1:
            record.targets = list(dict.fromkeys(record.targets))
            sort_targets(record.targets)
        if version is Version.CURRENT:
            record.properties = sorted(
                (
                    each
                    for each in record.properties
                    if "/" not in each.name or each.name.startswith("webhook/")
                ),
                key=lambda each: each.name,
            )
        found.setdefault((*record.key, ";".join(record.targets)), record)
    return list(found.values())


def _to_change_set(changes: Changes) -> ChangeSet:
    return ChangeSet(
        *(
            tuple(record.to_endpoint() for record in records)
            for records in (changes.create, changes.update_old, changes.update_new, changes.delete)
        )
    )
