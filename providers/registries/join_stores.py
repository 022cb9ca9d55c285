"""Claims of registry stores beside those of the zone: which owner a record set has by both.

A stored claim is for exactly its record set, and for the instances of its own registry profile. It agrees
with the owner that the profiles of the zone find, or it does not; claims of the zone that no profile obeys do
not count. A row that was written before its record set only counts once that was created as intended.

A store whose profile is one of the zone's, too, keeps copies of its claims there: its row decides, and the
TXT records that repeat it decide nothing, whatever they say.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from providers.registries.claim import (
    Belief,
    Claim,
    ClaimFormat,
    ClaimVerdict,
    OwnershipState,
    PairedEndpoint,
    Pairing,
    TxtProfile,
)
from providers.registries.labels import OWNER, RESOURCE, describe_unreadable_owner, parse_labels
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.registries.txt_copies import find_copies
from providers.wire.canonical_name import canonical_targets
from providers.wire.endpoint import Endpoint, EndpointKey

MAX_STORED_CLAIMS_PER_RECORD_SET = 100
_DECIDING = (ClaimVerdict.EFFECTIVE, ClaimVerdict.CONFLICTING)
_CROWDED = "The registry stores have too many claims for this record set."
_ORPHANED = "There is no record set at the claimed name."
_NOT_COME_TRUE = "It was written before its record set, which was not created as intended."
IS_OVERRULED_COPY = "It is a copy of the claim in a registry store, which decides and names another owner."


def join_stores(pairing: Pairing, stores: Sequence[StoreContents], profiles: Iterable[TxtProfile]) -> Pairing:
    """The pairing of a zone, read under these profiles, with the claims of its registry stores. Pure and
    total; the order of stores and claims does not show in the result. Without stores it is the pairing
    itself."""
    if not any(store.claims for store in stores):
        return pairing
    claims = list(pairing.claims)
    numbers: dict[EndpointKey, list[int]] = defaultdict(list)
    come_true = _find_intents_come_true(pairing, stores)
    for claim, counts in sorted(_read(stores, come_true), key=_order):
        key = EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
        if counts:
            numbers[key].append(len(claims))
        claims.append(claim)
    for crowd in (each for each in numbers.values() if len(each) > MAX_STORED_CLAIMS_PER_RECORD_SET):
        for number in crowd:
            claims[number] = _set_aside(claims[number], _CROWDED)
    named = {profile.reference: profile for profile in profiles}
    copied = {store.reference: named[store.reference] for store in stores if store.reference in named}
    records = [_join(record, numbers.get(record.key, ()), claims, copied) for record in pairing.records]
    return Pairing(records=tuple(records), claims=tuple(claims))


def _find_intents_come_true(pairing: Pairing, stores: Iterable[StoreContents]) -> set[StoredClaim]:
    """The rows that were written before their record sets, where these have just the targets meant."""
    meant: dict[EndpointKey, list[StoredClaim]] = defaultdict(list)
    for store in stores:
        for stored in store.claims:
            if stored.meant_targets is not None:
                meant[stored.key].append(stored)
    if not meant:
        return set()
    shown = {record.key: record.endpoint for record in pairing.records if record.key in meant}
    return {
        stored for key, endpoint in shown.items() for stored in meant[key] if _is_as_meant(stored, endpoint)
    }


def _is_as_meant(stored: StoredClaim, endpoint: Endpoint) -> bool:
    meant = msgspec.structs.replace(endpoint, targets=stored.meant_targets or ())
    return canonical_targets(meant) == canonical_targets(endpoint)


def _read(stores: Iterable[StoreContents], come_true: set[StoredClaim]) -> Iterator[tuple[Claim, bool]]:
    """Each claim, and whether it counts."""
    for store in stores:
        profile = TxtProfile(reference=store.reference)
        for stored in store.claims:
            counts = stored.meant_targets is None or stored in come_true
            yield _build_claim(stored, store.kind, profile, counts=counts), counts


def _build_claim(stored: StoredClaim, kind: str, profile: TxtProfile, *, counts: bool) -> Claim:
    """The claim as an orphan, until a record set is found where it points."""
    labels = parse_labels(stored.text) or {}
    problem = stored.problem or describe_unreadable_owner(labels)
    return Claim(
        endpoint=Endpoint(targets=(stored.text,), set_identifier=stored.key.set_identifier),
        raw=stored.text,
        format=ClaimFormat.NEW,
        profile=profile,
        record_name=stored.key.name,
        record_type=stored.key.record_type,
        set_identifier=stored.key.set_identifier,
        owner_id="" if problem else labels[OWNER],
        resource=labels.get(RESOURCE, ""),
        labels=labels,
        is_encrypted=False,
        verdict=ClaimVerdict.UNREADABLE if problem else ClaimVerdict.ORPHAN,
        problem=problem or (_ORPHANED if counts else _NOT_COME_TRUE),
        registry=kind,
    )


def _join(
    record: PairedEndpoint, stored: Sequence[int], claims: list[Claim], copied: Mapping[str, TxtProfile]
) -> PairedEndpoint:
    """The record set with its stored claims; their verdicts, and those of its TXT claims, in `claims`.
    `copied` are the formats of the copies that stores keep in the zone, by reference."""
    if not stored:
        return record
    numbers = (*record.claims, *stored)
    readable = [number for number in stored if claims[number].owner_id]
    zone = _list_beliefs(record, claims)
    if readable:
        # The owner has another registry, and no TXT instance is registered that would use the provider's
        # label: it may be what was written long ago.
        zone = tuple(each for each in zone if each.claim is not None or each.profile_reference)
    deciding = next((each for each in readable if claims[each].profile.reference in copied), None)
    if deciding is not None:
        zone = _drop_copies(record, zone, claims, deciding, copied)
    beliefs = (*zone, *(_build_belief(claims[number], number) for number in readable))
    owners = {belief.owner_id for belief in beliefs}
    if not owners:
        return msgspec.structs.replace(record, state=OwnershipState.UNKNOWN, claims=numbers)
    if len(owners) > 1:
        for number in {belief.claim for belief in beliefs if belief.claim is not None}:
            claims[number] = _replace_verdict(claims[number], ClaimVerdict.CONFLICTING)
        return _mark_conflict(record, numbers, beliefs)
    for number in readable:
        if claims[number].verdict is not ClaimVerdict.CONFLICTING:
            claims[number] = _replace_verdict(claims[number], ClaimVerdict.EFFECTIVE)
    effective = record.effective_claim if deciding is None else deciding
    effective = readable[0] if effective is None else effective
    rest = tuple(number for number in numbers if number != effective)
    is_all_obeyed = not record.beliefs and all(_is_obeyed(claims[number]) for number in record.claims)
    return msgspec.structs.replace(
        record,
        state=OwnershipState.OWNED,
        owner_id=owners.pop(),
        effective_claim=effective,
        claims=(effective, *rest),
        beliefs=() if is_all_obeyed else beliefs,
    )


def _mark_conflict(
    record: PairedEndpoint, numbers: tuple[int, ...], beliefs: tuple[Belief, ...]
) -> PairedEndpoint:
    return msgspec.structs.replace(
        record,
        state=OwnershipState.CONFLICT,
        owner_id="",
        effective_claim=None,
        claims=numbers,
        beliefs=beliefs,
    )


def _drop_copies(
    record: PairedEndpoint,
    zone: Sequence[Belief],
    claims: list[Claim],
    deciding: int,
    copied: Mapping[str, TxtProfile],
) -> tuple[Belief, ...]:
    """What the zone says beside the copies of the claim that decides. Copies that name another owner are
    overruled, in `claims`."""
    reference, owner_id = claims[deciding].profile.reference, claims[deciding].owner_id
    copies = set(find_copies(record, record.claims, claims, copied[reference]))
    for number in copies:
        claim = claims[number]
        # A legacy claim is for other record sets as well.
        if claim.format is ClaimFormat.NEW and claim.owner_id not in ("", owner_id):
            verdict = ClaimVerdict.OVERRULED
            claims[number] = msgspec.structs.replace(claim, verdict=verdict, problem=IS_OVERRULED_COPY)
    return tuple(
        each
        for each in zone
        if each.claim not in copies and not (each.claim is None and each.profile_reference == reference)
    )


def _list_beliefs(record: PairedEndpoint, claims: Sequence[Claim]) -> tuple[Belief, ...]:
    """What the profiles of the zone find; the pairing leaves it out where all agree."""
    if record.beliefs or record.effective_claim is None:
        return record.beliefs
    obeyed = (number for number in record.claims if claims[number].verdict in _DECIDING)
    return tuple(_build_belief(claims[number], number) for number in obeyed)


def _build_belief(claim: Claim, number: int) -> Belief:
    return Belief(claim.profile.reference, claim.owner_id, number)


def _is_obeyed(claim: Claim) -> bool:
    return claim.verdict not in {ClaimVerdict.IGNORED, ClaimVerdict.OVERRULED}


def _replace_verdict(claim: Claim, verdict: ClaimVerdict) -> Claim:
    return msgspec.structs.replace(claim, verdict=verdict, problem="")


def _set_aside(claim: Claim, problem: str) -> Claim:
    return msgspec.structs.replace(claim, owner_id="", verdict=ClaimVerdict.UNREADABLE, problem=problem)


def _order(read: tuple[Claim, bool]) -> tuple[str | bool, ...]:
    claim, counts = read
    return (
        claim.record_name,
        claim.record_type,
        claim.set_identifier,
        claim.profile.reference,
        claim.raw,
        claim.problem,
        counts,
    )
