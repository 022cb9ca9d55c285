"""What instances read whose claims are kept in the database: built once from a reading, for all who ask, and
after a change brought up to date by what changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock

import msgspec

from providers.registries.claim import TxtProfile
from providers.wire.elements import join_elements
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from registry_app.database_claims import DatabaseStore, fetch_legacy_writers, fetch_versions
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.kept_claims import KeptClaims
from registry_app.guard.records import RecordsReading
from registry_app.guard.shown_claims import ClaimShower
from registry_app.guard.zone_truth import Sources, Store, ZoneTruth, build_truth, update_truth
from registry_app.mirror.registries import Registries, build_registries, build_txt_profiles, fetch_profiles_at
from registry_app.models import GuardEndpoint, Provider

# Who reads less often reads more of it again.
_MOST_CHANGES = 50


@dataclass(frozen=True)
class _Basis:
    """All that decides whose the record sets of a reading are. `number` is that of the reading, `versions`
    are those of the rows of each registry profile."""

    number: int
    versions: tuple[tuple[int, str, str], ...]
    profiles: tuple[TxtProfile, ...]
    registries: Registries


@dataclass(frozen=True)
class _Known:
    """Whose everything is in a reading. `number` is another one after each change, and `changes` has the
    names of the last changes, by the numbers they led to; earlier ones are not known any more."""

    basis: _Basis
    truth: ZoneTruth
    number: int = 0
    changes: Mapping[int, Collection[str]] = field(default_factory=dict)

    def list_changed_since(self, number: int) -> set[str] | None:
        """The names that changed since; None where that is not known."""
        numbers = range(number + 1, self.number + 1)
        if any(each not in self.changes for each in numbers):
            return None
        return {name for each in numbers for name in self.changes[each]}


@dataclass(frozen=True)
class _Shown:
    """What is shown in one format. `number` is that of what was known then."""

    basis: _Basis
    format: TxtProfile
    reading: RecordsReading
    shower: ClaimShower
    number: int


@dataclass(frozen=True)
class _Format:
    """In which format an instance reads, and the record sets for which it looks for a legacy claim."""

    kept: KeptClaims
    owner_id: str
    legacy: Collection[EndpointKey]

    def is_special(self, truth: ZoneTruth) -> bool:
        """Whether it is shown something else than the instances of other owners with this profile."""
        return bool(self.legacy) or self.owner_id in truth.legacy_owners


class ShownReader:
    """Shows each instance the claims of everybody in its own format.

    Of the registries beside the zone it knows those in the database: claims in others are not shown, so that
    their record sets look like nobody's. What an instance may change is decided with all of them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[int, Lock] = {}
        self._known: dict[int, _Known] = {}
        self._numbers: dict[int, int] = {}
        # By registry profile, and by owner where its instances look for claims of their own alone.
        self._shown: dict[tuple[int, str], _Shown] = {}

    def show(
        self, endpoint: GuardEndpoint, kept: KeptClaims, reading: RecordsReading, deadline: Deadline
    ) -> RecordsReading:
        """A reading as the instance is shown it. Raises Unavailable: never a shorter list instead (I13)."""
        basis = _fetch_basis(endpoint.provider, reading)
        owner_id = endpoint.instance.owner.owner_id
        legacy = fetch_legacy_writers(kept.profile_id, owner_id)
        with self._lock:
            lock = self._locks.setdefault(endpoint.provider_id, Lock())
        if not lock.acquire(timeout=deadline.left()):
            raise Unavailable(f"What {endpoint} is shown is still being built.")
        try:
            known = self._find_known(endpoint.provider, basis, reading)
            return self._find_shown(known, _Format(kept, owner_id, legacy))
        except WireError as error:
            raise Unavailable(f"What {endpoint} is shown cannot be built: {error}") from error
        finally:
            lock.release()

    def _find_shown(self, known: _Known, asked: _Format) -> RecordsReading:
        owner_id = asked.owner_id if asked.is_special(known.truth) else ""
        place = (asked.kept.profile_id, owner_id)
        before = self._shown.get(place)
        if before is not None and before.format != asked.kept.format:
            before = None
        if before is not None and before.basis == known.basis:
            return before.reading
        shower = before.shower if before else ClaimShower(asked.kept.format, owner_id)
        names = known.list_changed_since(before.number) if before else None
        statements = known.truth.statements
        if names is None:
            names = {*shower.list_names(), *statements}
        shower.update(names, statements, asked.legacy if owner_id else frozenset())
        elements = [*known.truth.list_left(), *shower.list_encoded()]
        body = join_elements([msgspec.Raw(each) for each in elements])
        # What changed without a change for this instance leaves what was compressed and cut.
        same = before is not None and before.reading.body == body
        shown = before.reading if before is not None and same else RecordsReading(body, place=place)
        self._shown[place] = _Shown(known.basis, asked.kept.format, shown, shower, known.number)
        return shown

    def _find_known(self, provider: Provider, basis: _Basis, reading: RecordsReading) -> _Known:
        known = self._known.get(provider.pk)
        if known is not None and known.basis == basis:
            return known
        self._known.pop(provider.pk, None)  # its truth is used up, also where something fails
        sources = _fetch_sources(provider, basis, reading)
        updated = update_truth(known.truth, sources) if known else None
        number = self._numbers[provider.pk] = self._numbers.get(provider.pk, 0) + 1
        if updated is None or known is None:
            found = _Known(basis, build_truth(sources), number)
        else:
            changes = {**dict(list(known.changes.items())[-_MOST_CHANGES:]), number: updated[1]}
            found = _Known(basis, updated[0], number, changes)
        self._known[provider.pk] = found
        return found


def _fetch_basis(provider: Provider, reading: RecordsReading) -> _Basis:
    found = fetch_profiles_at(provider)
    kept = {
        each.row.pk: each.row.kind for each in found if each.is_named and each.row.registry.is_behind_guard
    }
    # The versions before the rows: then these are as new, or newer.
    versions = tuple((pk, kept[pk], version) for pk, version in sorted(fetch_versions(kept).items()))
    registries = build_registries(provider, found)
    return _Basis(reading.number, versions, tuple(build_txt_profiles(found)), registries)


def _fetch_sources(provider: Provider, basis: _Basis, reading: RecordsReading) -> Sources:
    stores = [
        Store(str(pk), kind, {claim.key: claim for claim in DatabaseStore(pk).fetch_claims()})
        for pk, kind, _ in basis.versions
    ]
    return Sources(reading.body, stores, basis.profiles, basis.registries, provider.max_items)
