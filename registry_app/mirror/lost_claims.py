"""Owners whose claims are gone from a registry store while the record sets of these claims are still there.

A ConfigMap, the rows of a table or the objects of a namespace may be deleted whole: one owner's, however few
beside the others'. Then its record sets would look unmanaged. An owner that cleans up deletes
its record sets too, and dnsadmin knows the claims that its own transfers moved: neither is a loss.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from django.db.models import Count

from providers.registries.claim import Claim as FoundClaim
from providers.registries.claim import ClaimVerdict, OwnershipState, PairedEndpoint
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.plausibility import Holding, LostClaims, Thresholds
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Claim

_CHUNK = 5_000
_VERDICT = Claim.Verdict


class KnownClaim(NamedTuple):
    """A claim as the last accepted snapshot had it: whether a record set stood where it pointed, and was its
    owner's by it."""

    holding: Holding
    key: EndpointKey
    has_record: bool
    is_decisive: bool


def fetch_lost_claims(
    provider_id: int,
    snapshot: Snapshot,
    own_changes: Iterable[Collection[EndpointKey]],
    thresholds: Thresholds,
) -> list[LostClaims]:
    """What a snapshot lost of what the mirror knows. Database read.

    `own_changes` are record sets whose claims dnsadmin moved or deleted; only read where it matters.
    """
    counted = _count_known(provider_id, snapshot)
    if not counted:
        return []
    candidates = _Candidates(counted, snapshot, thresholds)
    known = _known_claims(provider_id, candidates.known)
    return candidates.find_losses(known, own_changes) if candidates.known else []


def compare_claims(baseline: Snapshot, snapshot: Snapshot, thresholds: Thresholds) -> list[LostClaims]:
    """What a snapshot lost of what another one, which a person accepted, had. Pure."""
    stores = _stores_of(snapshot)
    known = [claim for claim in _read_known(baseline) if claim.holding.store in stores]
    candidates = _Candidates(Counter(claim.holding for claim in known), snapshot, thresholds)
    return candidates.find_losses((claim for claim in known if claim.holding in candidates.known), ())


class _Candidates:
    """Owners with so few claims now that it matters which are gone, and how many were known. Mostly none."""

    def __init__(self, counted: Mapping[Holding, int], snapshot: Snapshot, thresholds: Thresholds) -> None:
        self._snapshot = snapshot
        self._is_too_few = thresholds.is_too_few
        self._shown = Counter(holding for holding, _ in _list_shown(snapshot)) if counted else Counter()
        self.known = {
            holding: count
            for holding, count in counted.items()
            if self._is_too_few(self._shown[holding], count)
        }

    def find_losses(
        self, known: Iterable[KnownClaim], own_changes: Iterable[Collection[EndpointKey]]
    ) -> list[LostClaims]:
        """The losses among them. `known` are their claims, all of them."""
        if not self.known:
            return []
        ours = list(own_changes)
        records = {record.key: record for record in self._snapshot.records}
        still = {each for each in _list_shown(self._snapshot) if each[0] in self.known}
        expected_removals, still_present = Counter[Holding](), Counter[Holding]()
        for claim in known:
            if (claim.holding, claim.key) in still:
                continue
            is_lost = _is_lost(claim, records.get(claim.key))
            is_ours = any(claim.key in keys for keys in ours)
            (still_present if is_lost and not is_ours else expected_removals)[claim.holding] += 1
        found = (
            self._describe(each, expected_removals[each], still_present[each]) for each in sorted(self.known)
        )
        return [each for each in found if self._is_implausible(each)]

    def _is_implausible(self, lost: LostClaims) -> bool:
        if not lost.still_present or not lost.shown:
            return bool(lost.still_present)
        return self._is_too_few(lost.known - lost.still_present, lost.known)

    def _describe(self, holding: Holding, expected_removals: int, still_present: int) -> LostClaims:
        kinds = (each.kind for each in self._snapshot.contents if each.reference == holding.store)
        return LostClaims(
            holding=holding,
            kind=next(kinds, self._snapshot.registries.in_endpoints.get(holding.store, "")),
            known=self.known[holding] - expected_removals,
            shown=self._shown[holding],
            still_present=still_present,
        )


def _is_lost(claim: KnownClaim, record: PairedEndpoint | None) -> bool:
    """Whether a record set that is still there lost its owner only because the claim is gone."""
    owner_id = claim.holding.owner_id
    if not claim.has_record or record is None or record.state is OwnershipState.UNKNOWN:
        return False
    if not owner_id:
        return record.state is OwnershipState.UNMANAGED  # no instance could change it before
    if record.state is OwnershipState.OWNED:
        # Claimed elsewhere too, or given away; but a conflict does not end because one side is gone.
        return record.owner_id != owner_id and not claim.is_decisive
    return True


def _stores_of(snapshot: Snapshot) -> set[str]:
    return {*snapshot.registries.stores, *snapshot.registries.in_endpoints}


def _list_shown(snapshot: Snapshot) -> Iterator[tuple[Holding, EndpointKey]]:
    return (_place_of(claim) for claim in snapshot.claims if not claim.is_in_zone)


def _place_of(claim: FoundClaim) -> tuple[Holding, EndpointKey]:
    key = EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
    return Holding(claim.profile.reference, claim.owner_id), key


def _read_known(baseline: Snapshot) -> Iterator[KnownClaim]:
    for claim in baseline.claims:
        if not claim.is_in_zone:
            verdict = claim.verdict
            has_record, is_decisive = verdict is not ClaimVerdict.ORPHAN, verdict is ClaimVerdict.EFFECTIVE
            yield KnownClaim(*_place_of(claim), has_record, is_decisive)


def _count_known(provider_id: int, snapshot: Snapshot) -> dict[Holding, int]:
    stores = _stores_of(snapshot)
    if not stores:
        return {}
    rows = Claim.objects.filter(
        provider_id=provider_id, registry_profile_id__in=[int(each) for each in stores], txt_name=""
    ).order_by()
    counted = rows.values_list("registry_profile_id", "owner__owner_id").annotate(count=Count("pk"))
    return {Holding(str(store), owner_id or ""): count for store, owner_id, count in counted}


def _known_claims(provider_id: int, candidates: Collection[Holding]) -> Iterator[KnownClaim]:
    for store, holdings in groupby(sorted(candidates), key=lambda holding: holding.store):
        wanted = set(holdings)
        rows = Claim.objects.filter(
            provider_id=provider_id, registry_profile_id=int(store), txt_name=""
        ).order_by()
        fields = ("owner__owner_id", "verdict", "record_name", "record_type", "set_identifier")
        for owner_id, verdict, *key in rows.values_list(*fields).iterator(chunk_size=_CHUNK):
            holding = Holding(store, owner_id or "")
            if holding in wanted:
                has_record, is_decisive = verdict != _VERDICT.ORPHAN, verdict == _VERDICT.EFFECTIVE
                yield KnownClaim(holding, EndpointKey(*key), has_record, is_decisive)
