"""The views of guard endpoints, cut from readings of their providers."""

from dataclasses import dataclass
from itertools import chain
from threading import Lock

from providers.registries.claim import TxtProfile
from providers.registries.linked_names import NameLinks
from providers.wire.change_set import ChangeSet
from providers.wire.errors import WireError
from providers.wire.poison import safe_text
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.kept_claims import find_kept_claims
from registry_app.guard.negotiation import find_view
from registry_app.guard.records import RecordsReader, RecordsReading
from registry_app.guard.shown_readings import ShownReader
from registry_app.guard.view import View, ZoneNames, is_claim
from registry_app.mirror.registries import fetch_profiles_at
from registry_app.models import GuardEndpoint, Provider

_SHOWN = 3
_Profiles = frozenset[TxtProfile]


@dataclass(frozen=True)
class _Named:
    """The names of a reading. `number` is that of the reading."""

    number: int
    profiles: _Profiles
    names: ZoneNames


@dataclass(frozen=True)
class _Cut:
    """A view of a reading. `number` is that of the whole reading."""

    number: int
    profiles: _Profiles
    view: View
    reading: RecordsReading

    def is_of(self, number: int, profiles: _Profiles, view: View) -> bool:
        return (self.number, self.profiles, self.view) == (number, profiles, view)


class ViewReader:
    """Reads what each guard endpoint shows: all of its provider, or its own view. A view is cut once from a
    reading, however many ask for it."""

    def __init__(self, records: RecordsReader) -> None:
        self._records = records
        self._shown = ShownReader()
        self._lock = Lock()
        self._locks: dict[int, Lock] = {}
        self._named: dict[tuple[object, ...], _Named] = {}
        self._cuts: dict[int, _Cut] = {}

    def read(self, endpoint: GuardEndpoint, deadline: Deadline) -> RecordsReading:
        """What its instance reads. Raises Unavailable: never a shorter list instead of an error (I13)."""
        kept = find_kept_claims(endpoint)
        reading = self._records.read(endpoint.provider, deadline)
        if kept is not None:
            reading = self._shown.show(endpoint, kept, reading, deadline)
        view = find_view(endpoint)
        if view is None:
            self._cuts.pop(endpoint.pk, None)
            return reading
        profiles = fetch_affixes(endpoint)
        known = self._cuts.get(endpoint.pk)
        if known is None or not known.is_of(reading.number, profiles, view):
            known = self._cut(endpoint, reading, profiles, view, deadline)
        return known.reading

    def _cut(
        self,
        endpoint: GuardEndpoint,
        reading: RecordsReading,
        profiles: _Profiles,
        view: View,
        deadline: Deadline,
    ) -> _Cut:
        with self._lock:
            lock = self._locks.setdefault(endpoint.provider_id, Lock())
        if not lock.acquire(timeout=deadline.left()):
            raise Unavailable(f"The view of {endpoint} is still being cut.")
        try:
            body = self._name(endpoint.provider, reading, profiles).cut(view)
        except WireError as error:
            raise Unavailable(f"The view of {endpoint} cannot be cut: {error}") from error
        finally:
            lock.release()
        before = self._cuts.get(endpoint.pk)
        # A change outside of the view leaves what was compressed.
        same = before is not None and before.reading.body == body
        shown = before.reading if before and same else RecordsReading(body)
        cut = _Cut(reading.number, profiles, view, shown)
        self._cuts[endpoint.pk] = cut
        return cut

    def _name(self, provider: Provider, reading: RecordsReading, profiles: _Profiles) -> ZoneNames:
        place = (provider.pk, *reading.place)
        known = self._named.get(place)
        if known is None or (known.number, known.profiles) != (reading.number, profiles):
            before = known.names if known is not None and known.profiles == profiles else None
            links = NameLinks(profiles)
            names = ZoneNames(reading.body, links, max_items=provider.max_items, before=before)
            known = _Named(reading.number, profiles, names)
            self._named[place] = known
        return known.names


def fetch_affixes(endpoint: GuardEndpoint) -> _Profiles:
    """The TXT profiles that a claim at its provider may be written under, without their keys: names do not
    depend on them; and the format of its own instance. Database read."""
    rows = [each.row for each in fetch_profiles_at(endpoint.provider)]
    instance = endpoint.instance
    if instance.registry_profile and instance.registry_profile_id not in {row.pk for row in rows}:
        rows.append(instance.registry_profile)
    return frozenset(
        TxtProfile(prefix=row.prefix, suffix=row.suffix, wildcard_replacement=row.wildcard_replacement)
        for row in rows
        if row.writes_txt or (row.registry.is_behind_guard and row.pk == instance.registry_profile_id)
    )


def raise_if_outside(endpoint: GuardEndpoint, change_set: ChangeSet) -> None:
    """Raise Unavailable for a change set with record sets outside of the view of its instance: what it does
    not read it takes for gone, whatever is there. Claims follow their record sets."""
    view = find_view(endpoint)
    if view is None:
        return
    endpoints = chain(change_set.create, change_set.update_old, change_set.update_new, change_set.delete)
    outside = sorted(
        {each.dns_name for each in endpoints if not (is_claim(each) or view.matches(each.dns_name))}
    )
    if outside:
        shown = ", ".join(map(safe_text, outside[:_SHOWN]))
        raise Unavailable(
            f"{len(outside)} of the names lie outside of the view of {endpoint}: {shown}.",
            now="Nothing was sent.",
            todo="The instance started with another filter, or the names of its owner changed. Restart it.",
        )
