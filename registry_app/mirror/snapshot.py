"""One frozen snapshot: everything a provider returned at one moment, as record sets and claims."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from providers.client.provider_client import RecordsAnswer
from providers.registries.claim import Claim, ClaimVerdict, OwnershipState, PairedEndpoint, TxtProfile
from providers.registries.join_stores import join_stores
from providers.registries.pairing import pair
from providers.registries.stored_claim import StoreContents, compute_claims_digest
from providers.registries.txt_names import list_names_meant, parse_txt_name
from providers.stores.registry_catalogue import REGISTRIES
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import (
    MEDIA_TYPES,
    WEBHOOK_MEDIA_TYPE,
    DecodedRecords,
    SetAside,
    decode_records,
)
from registry_app.mirror.body_digest import DIGEST_BYTES, compute_body_digest
from registry_app.mirror.open_stores import StoreAnswer
from registry_app.mirror.plausibility import NOTHING, Counts, count_endpoints
from registry_app.mirror.registries import NO_REGISTRIES, Registries
from registry_app.mirror.view import AtNames
from registry_app.models import Owner

NOTHING_LISTED = DecodedRecords([], [])
_ENCODER = msgspec.msgpack.Encoder()
_MAX_OWNER_ID = Owner._meta.get_field("owner_id").max_length or 0


@dataclass(frozen=True)
class Snapshot:
    """One response to `GET /records`, read under the profiles known for its provider.

    `records` are sorted by key and hold each key once. Their `claims` are indexes into `claims`.
    `set_aside_names` are names of record sets that an item set aside may be, or may claim: they are neither
    absent nor unmanaged, but unknown. `profiles` and `registries` are those it was read
    under, `contents` what the registry stores beside it held. `body_digest` covers body and contents;
    empty where nobody asks for it.
    `listed` is what was decoded, in the order of the response.
    Read with a view, it holds the part of `records` and `claims` that is in it; `shown` counts all.
    """

    body: bytes
    body_digest: str
    content_type: str
    fetch_seconds: float
    records: tuple[PairedEndpoint, ...]
    claims: tuple[Claim, ...]
    set_aside: tuple[SetAside, ...]
    item_count: int
    set_aside_names: frozenset[str] = frozenset()
    profiles: tuple[TxtProfile, ...] = ()
    registries: Registries = NO_REGISTRIES
    contents: tuple[StoreContents, ...] = ()
    shown: Counts = NOTHING
    listed: DecodedRecords = NOTHING_LISTED

    @property
    def has_protocol_type(self) -> bool:
        """Whether the Content-Type was one that a protocol names."""
        return self.content_type in MEDIA_TYPES


def decode_answer(
    answer: RecordsAnswer,
    profiles: Sequence[TxtProfile],
    registries: Registries,
    contents: tuple[StoreContents, ...],
    *,
    max_items: int,
    response_digest: str = "",
) -> Snapshot:
    """A response that is at hand, as a snapshot. `response_digest` is its digest, where the caller has it.
    Raises WireError."""
    return decode_snapshot(
        answer.body,
        profiles,
        registries,
        contents,
        max_items=max_items,
        body_digest=response_digest or compute_response_digest(compute_body_digest(answer.body), contents),
        content_type=answer.content_type,
        fetch_seconds=answer.seconds,
    )


def decode_snapshot(
    body: bytes,
    profiles: Sequence[TxtProfile],
    registries: Registries = NO_REGISTRIES,
    contents: tuple[StoreContents, ...] = (),
    *,
    max_items: int,
    body_digest: str = "",
    content_type: str = WEBHOOK_MEDIA_TYPE,
    fetch_seconds: float = 0.0,
    view: AtNames | None = None,
) -> Snapshot:
    """A body as a snapshot. Pure. Raises WireError where the body as a whole cannot be trusted (I3)."""
    return build_snapshot(
        decode_records(body, max_items=max_items),
        profiles,
        registries,
        contents,
        body=body,
        body_digest=body_digest or compute_response_digest(compute_body_digest(body), contents),
        content_type=content_type,
        fetch_seconds=fetch_seconds,
        view=view,
    )


def build_snapshot(
    decoded: DecodedRecords,
    profiles: Sequence[TxtProfile],
    registries: Registries,
    contents: tuple[StoreContents, ...],
    *,
    body: bytes,
    body_digest: str,
    content_type: str = WEBHOOK_MEDIA_TYPE,
    fetch_seconds: float = 0.0,
    view: AtNames | None = None,
) -> Snapshot:
    """A response that was decoded as a snapshot. Pure."""
    endpoints = decoded.endpoints if view is None else view.narrow(decoded.endpoints)
    pairing = pair(endpoints, profiles)
    pairing = join_stores(pairing, [*contents, *_read_carried(endpoints, registries)], profiles)
    records, claims = _refuse_long_owners(_once_each(pairing.records), pairing.claims)
    set_aside_names = _list_set_aside_names(decoded.set_aside, profiles)
    return Snapshot(
        body=body,
        body_digest=body_digest,
        content_type=content_type,
        fetch_seconds=fetch_seconds,
        records=_mark_unknown(records, set_aside_names, registries),
        claims=claims,
        set_aside=tuple(decoded.set_aside),
        item_count=len(decoded.endpoints) + len(decoded.set_aside),
        set_aside_names=set_aside_names,
        profiles=tuple(profiles),
        registries=registries,
        contents=contents,
        shown=count_endpoints(decoded.endpoints),
        listed=decoded,
    )


def compute_response_digest(body_digest: str, contents: Sequence[StoreContents | StoreAnswer]) -> str:
    """The digest of everything that was fetched: the response's own, in hexadecimal, and those of the
    registry stores beside it. The order of a store's claims does not change it."""
    if not contents:
        return body_digest
    rows = [_digest_of(each) for each in contents]
    return _blake2b(bytes.fromhex(body_digest) + _ENCODER.encode(rows))


def _digest_of(each: StoreContents | StoreAnswer) -> tuple[str, str, bytes]:
    if isinstance(each, StoreAnswer):
        return each.opened.reference, each.opened.registry.name, each.digest
    return each.reference, each.kind, each.digest or compute_claims_digest(each.claims)


def _blake2b(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _read_carried(endpoints: Sequence[Endpoint], registries: Registries) -> list[StoreContents]:
    """The claims that the endpoints have in their own labels."""
    carried = ((reference, REGISTRIES[kind]) for reference, kind in registries.in_endpoints.items())
    return [
        StoreContents(reference, kind.name, tuple(kind.endpoint_claims.read(endpoints)))
        for reference, kind in carried
        if kind.endpoint_claims
    ]


def _refuse_long_owners(
    records: tuple[PairedEndpoint, ...], claims: tuple[Claim, ...]
) -> tuple[tuple[PairedEndpoint, ...], tuple[Claim, ...]]:
    """An owner id that is too long for the column makes its claim unreadable and the claimed record set
    unknown: as an unmanaged one it could be adopted."""
    refused = {index for index, claim in enumerate(claims) if len(claim.owner_id) > _MAX_OWNER_ID}
    records = tuple(_as_unknown(record) if _is_too_long(record, refused) else record for record in records)
    if not refused:
        return records, claims
    problem = f"The owner id in the claim is longer than {_MAX_OWNER_ID} characters."
    return (
        records,
        tuple(
            msgspec.structs.replace(claim, owner_id="", verdict=ClaimVerdict.UNREADABLE, problem=problem)
            if index in refused
            else claim
            for index, claim in enumerate(claims)
        ),
    )


def _is_too_long(record: PairedEndpoint, refused: set[int]) -> bool:
    if record.owner_id:
        return len(record.owner_id) > _MAX_OWNER_ID
    return not refused.isdisjoint(record.claims) or any(
        len(belief.owner_id) > _MAX_OWNER_ID for belief in record.beliefs
    )


def _as_unknown(record: PairedEndpoint) -> PairedEndpoint:
    return msgspec.structs.replace(
        record, state=OwnershipState.UNKNOWN, owner_id="", effective_claim=None, beliefs=()
    )


def _once_each(records: tuple[PairedEndpoint, ...]) -> tuple[PairedEndpoint, ...]:
    """Each key once (I1). Only names that cannot be read come out of pairing twice."""
    if all(before.key != after.key for before, after in pairwise(records)):
        return records
    return tuple({record.key: record for record in reversed(records)}.values())[::-1]


def _list_set_aside_names(set_aside: Iterable[SetAside], profiles: Sequence[TxtProfile]) -> frozenset[str]:
    """Names of record sets that an item set aside may be, or may claim."""
    spellings = {item.name.lower().removesuffix(".") for item in set_aside if item.name}
    return frozenset(
        name for spelling in spellings for name in _names_meant_by(spelling, (*profiles, TxtProfile()))
    )


def _names_meant_by(spelling: str, profiles: Iterable[TxtProfile]) -> Iterator[str]:
    # A name beyond ASCII is read as the pairing reads it: the type comes off before it is encoded.
    canonical = _canonical(spelling)
    yield canonical
    txt_name = canonical if spelling.isascii() else spelling
    for profile in profiles:
        reading = parse_txt_name(txt_name, profile)
        if reading is not None:
            yield from list_names_meant(_canonical(reading.record_name), profile.wildcard_replacement.lower())


def _canonical(spelling: str) -> str:
    try:
        return canonical_name(spelling)
    except InvalidName:
        return spelling  # no record set has such a name


def _mark_unknown(
    records: tuple[PairedEndpoint, ...], set_aside_names: frozenset[str], registries: Registries
) -> tuple[PairedEndpoint, ...]:
    """A record set whose claim may be what was set aside, or whose owner keeps no claims, is not unmanaged:
    nobody may adopt it."""
    if not set_aside_names and not registries.without_claims:
        return records
    return tuple(
        _as_unknown(record)
        if record.state is OwnershipState.UNMANAGED
        and (record.key.name in set_aside_names or registries.may_lack_claim(record.key.name))
        else record
        for record in records
    )
