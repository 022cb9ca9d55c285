"""The write session of a change set: how it reads the zone, and how its step is settled."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from time import sleep
from typing import Any

import structlog

from providers.http.errors import ProviderError
from providers.registries.linked_names import NameLinks
from providers.stores.registry import NamedClaimsStore
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_change_set_strict
from registry_app.clock import fetch_now
from registry_app.errors import LeaseLost, SecretUnavailable
from registry_app.guard.claim_rows import settle_rows, withdraw_rows
from registry_app.guard.deadline import Deadline
from registry_app.guard.zone import Zone, build_zone
from registry_app.mirror.baseline import compare_stores, compare_with_known, raise_if_implausible
from registry_app.mirror.changed_part import may_be_linked_by_name, may_follow_links
from registry_app.mirror.plausibility import NOTHING, Counts, count_endpoints
from registry_app.mirror.view import AtNames
from registry_app.models import GuardStep, StepStatus
from registry_app.writes.read_back import Change, changes_in, is_shown, read_until
from registry_app.writes.session import (
    LeasedProvider,
    ProviderBusy,
    WriteSession,
    leased_provider,
    open_session,
)
from registry_app.writes.step import resume_steps, settle_step
from registry_app.writes.zone_reader import LastZones, ZoneReader, ZoneReading

_logger = structlog.get_logger(__name__)
_PURPOSE = "guard"
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.05, 0.5, 1.5
_MOST_ENDPOINTS = 1_000_000
_LAST_ZONES = LastZones(most_bytes=128 * 2**20)


@dataclass(kw_only=True)
class GuardSession(WriteSession):
    """The write session of one change set of an instance. `removed` is what the step that is being settled
    deleted: that is not implausible."""

    removed: Counts = NOTHING

    @cached_property
    def zone_reader(self) -> ZoneReader:
        """One that knows what earlier sessions read: they come one after the other."""
        return ZoneReader(self.provider, self.client, self.profiles, _LAST_ZONES)

    def read(self, names: Collection[str]) -> Zone:
        """What is there at canonical names and all that are linked with them. Raises ProviderError, WireError
        and LeaseLost."""
        self.renew()
        has_stores = any(not isinstance(each.store, NamedClaimsStore) for each in self.stores.values())
        # Only a whole reading shows whether a registry store lost claims.
        reading = self.zone_reader.read(None if has_stores else names, follows_links=True)
        near = None if has_stores else self._find_near(names, reading)
        snapshot = self.read_stores(reading, near)
        found = compare_with_known(
            self.provider,
            snapshot.shown,
            snapshot.item_count,
            self.removed,
            compares_claims=not self.registries.are_any,
        )
        raise_if_implausible(self.provider, found)
        if has_stores:
            raise_if_implausible(self.provider, compare_stores(self.provider, snapshot))
        endpoints = reading.decoded.endpoints
        if near is not None:
            endpoints = list(AtNames(near).narrow(endpoints))
        return build_zone(snapshot, endpoints)

    def _find_near(self, names: Collection[str], reading: ZoneReading) -> Collection[str] | None:
        """The names that were read, where all of them were: those asked for, and all that are linked with
        them. None where only the whole zone tells."""
        endpoints = reading.decoded.endpoints
        if reading.names is not None or not self.registries.are_any:
            return reading.names
        if not (may_follow_links(self.profiles) and may_be_linked_by_name(endpoints)):
            return None
        there = frozenset(_list_names(endpoints))
        links = NameLinks(self.profiles)
        return links.reach(names, there.__contains__, limit=len(there) + len(names))

    def resume(self) -> None:
        """Settle what was sent here and never read back."""
        steps = GuardStep.objects.filter(provider=self.provider)
        resume_steps(self, steps, self._settle_left, note_called_off=lambda step: withdraw_rows(step.items))

    def _settle_left(self, step: GuardStep) -> None:
        # Its time is over: the lease of who sent it was.
        settle(self, step, timedelta())


def _list_names(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    for each in endpoints:
        try:
            yield canonical_name(each.dns_name)
        except InvalidName:
            continue  # nothing that is asked for has such a name


def settle(session: GuardSession, step: GuardStep, allowed: timedelta) -> bool:
    """Read until all of the step shows, or the time allowed is over, and store what is shown; whether all
    does. Raises ProviderError or WireError if the last of the readings failed, and LeaseLost."""
    change_set = decode_change_set_strict(step.change_set.encode(), max_items=_MOST_ENDPOINTS)
    changes = changes_in(change_set)
    names = frozenset(key.name for key in changes)
    session.removed = count_endpoints(change_set.delete)

    def is_whole(zone: Zone) -> bool:
        return all(_judge(key, change, zone) == "verified" for key, change in changes.items())

    zone = read_until(
        lambda: session.read(names), is_whole, allowed=allowed, since=step.answered_at or fetch_now()
    )
    is_verified = is_whole(zone)
    items = [_with_outcome(item, changes, zone) for item in step.items]
    status = GuardStep.Status.VERIFIED if is_verified else GuardStep.Status.INCOMPLETE
    is_answered = step.status == StepStatus.ANSWERED

    def store_outcome() -> None:
        settle_rows(items, zone.find, is_answered=is_answered)

    settle_step(session, step, status, items=items, store_outcome=store_outcome)
    step.items, session.removed = items, NOTHING
    return is_verified


def _with_outcome(item: dict[str, Any], changes: Mapping[EndpointKey, Change], zone: Zone) -> dict[str, Any]:
    key = EndpointKey(item["name"], item["record_type"], item["set_identifier"])
    return {**item, "outcome": _judge(key, changes[key], zone)}


def _judge(key: EndpointKey, change: Change, zone: Zone) -> str:
    live = zone.find(key)
    if is_shown(live, change.new):
        return "verified"
    return "not_shown" if is_shown(live, change.old) else "other"


@contextmanager
def leased_before(provider_id: int, deadline: Deadline) -> Iterator[LeasedProvider]:
    """The provider under its lease, waited for until the deadline. Raises ProviderBusy, ClockOff."""
    with ExitStack() as stack:
        pause = _FIRST_PAUSE
        while True:
            try:
                leased = stack.enter_context(leased_provider(provider_id, _PURPOSE))
                break
            except ProviderBusy:
                if deadline.is_over:
                    raise
            sleep(pause)
            pause = min(pause * _GROWTH, _LONGEST_PAUSE)
        yield leased


def finish_guard_steps(provider_id: int) -> None:
    """Settle what a guard sent and did not read back before it stopped. Nothing is sent. Called at any time,
    any number of times; where the provider is busy or cannot be read, a later call does it."""
    try:
        with leased_provider(provider_id, _PURPOSE) as leased, open_session(leased, GuardSession) as session:
            session.resume()
    except (ProviderBusy, LeaseLost, ProviderError, WireError, SecretUnavailable) as error:
        _logger.warning("guard.steps_left", provider=provider_id, error=str(error))
