"""What instances read whose claims are kept in the database: built once from a reading, for all who ask."""

from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock

import msgspec

from providers.registries.claim import ClaimFormat, TxtProfile
from providers.registries.stored_claim import StoreContents
from providers.wire.elements import join_elements
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.database_claims import DatabaseStore, fetch_legacy_writers, fetch_versions
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.kept_claims import KeptClaims
from registry_app.guard.records import RecordsReading
from registry_app.guard.shown_claims import ClaimShower, Written, strip_claims
from registry_app.guard.view import cut_all
from registry_app.mirror.registries import Registries, build_registries, build_txt_profiles, fetch_profiles_at
from registry_app.mirror.snapshot import Snapshot, build_snapshot
from registry_app.models import GuardEndpoint, Provider

_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True)
class _Basis:
    """All that decides whose the record sets of a reading are. `number` is that of the reading, `versions`
    are those of the rows of each registry profile."""

    number: int
    versions: tuple[tuple[int, str, str], ...]
    profiles: tuple[TxtProfile, ...]
    registries: Registries


@dataclass(frozen=True)
class _Truth:
    """A reading without its claims, element by element, and whose everything is. `legacy_owners` have claims
    of the legacy format in it."""

    basis: _Basis
    snapshot: Snapshot
    elements: tuple[msgspec.Raw, ...]
    legacy_owners: frozenset[str]


@dataclass(frozen=True)
class _Shown:
    """What is shown in one format, and the claims in it, so that the same are not written again."""

    basis: _Basis
    format: TxtProfile
    reading: RecordsReading
    written: Written


@dataclass(frozen=True)
class _Format:
    """In which format an instance reads, and the record sets for which it looks for a legacy claim."""

    kept: KeptClaims
    owner_id: str
    legacy: Collection[EndpointKey]

    def is_special(self, truth: _Truth) -> bool:
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
        self._truths: dict[int, _Truth] = {}
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
            truth = self._find_truth(endpoint.provider, basis, reading)
            return self._find_shown(truth, _Format(kept, owner_id, legacy))
        except WireError as error:
            raise Unavailable(f"What {endpoint} is shown cannot be built: {error}") from error
        finally:
            lock.release()

    def _find_shown(self, truth: _Truth, asked: _Format) -> RecordsReading:
        place = (asked.kept.profile_id, asked.owner_id if asked.is_special(truth) else "")
        known = self._shown.get(place)
        if known is not None and (known.basis, known.format) == (truth.basis, asked.kept.format):
            return known.reading
        is_same_format = known is not None and known.format == asked.kept.format
        before: Written = known.written if known is not None and is_same_format else {}
        shower = ClaimShower(asked.kept.format, asked.owner_id, asked.legacy, before)
        claims = shower.show(truth.snapshot)
        body = join_elements([*truth.elements, *(msgspec.Raw(_ENCODER.encode(each)) for each in claims)])
        # What changed without a change for this instance leaves what was compressed and cut.
        same = known is not None and known.reading.body == body
        shown = known.reading if known is not None and same else RecordsReading(body, place=place)
        self._shown[place] = _Shown(truth.basis, asked.kept.format, shown, shower.written)
        return shown

    def _find_truth(self, provider: Provider, basis: _Basis, reading: RecordsReading) -> _Truth:
        known = self._truths.get(provider.pk)
        if known is None or known.basis != basis:
            known = _build_truth(provider, basis, reading)
            self._truths[provider.pk] = known
        return known


def _fetch_basis(provider: Provider, reading: RecordsReading) -> _Basis:
    found = fetch_profiles_at(provider)
    kept = {
        each.row.pk: each.row.kind for each in found if each.is_named and each.row.registry.is_behind_guard
    }
    # The versions before the rows: then these are as new, or newer.
    versions = tuple((pk, kept[pk], version) for pk, version in sorted(fetch_versions(kept).items()))
    registries = build_registries(provider, found)
    return _Basis(reading.number, versions, tuple(build_txt_profiles(found)), registries)


def _build_truth(provider: Provider, basis: _Basis, reading: RecordsReading) -> _Truth:
    elements = cut_all(reading.body, provider.max_items)
    decoded = decode_records(reading.body, max_items=provider.max_items)
    contents = tuple(
        StoreContents(str(pk), kind, tuple(DatabaseStore(pk).fetch_claims()))
        for pk, kind, _ in basis.versions
    )
    snapshot = build_snapshot(decoded, basis.profiles, basis.registries, contents, body=b"", body_digest="")
    set_aside = {each.index for each in decoded.set_aside}
    places = [place for place in range(len(elements)) if place not in set_aside]
    left: dict[int, bytes] = {place: elements[place] for place in set_aside}
    stripped = strip_claims(decoded.endpoints, snapshot)
    for place, before, after in zip(places, decoded.endpoints, stripped, strict=True):
        if after is not None:
            left[place] = elements[place] if after is before else _ENCODER.encode(after)
    shown = tuple(msgspec.Raw(left[place]) for place in sorted(left))
    legacy = {claim.owner_id for claim in snapshot.claims if claim.format is ClaimFormat.LEGACY}
    return _Truth(basis, snapshot, shown, frozenset(legacy))
