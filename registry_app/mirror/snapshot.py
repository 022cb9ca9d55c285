"""One frozen snapshot: all a provider said at one moment, told apart into record sets and claims."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter

import msgspec

from providers.client.provider_client import ProviderClient, RecordsAnswer
from providers.http.answer import DIGEST_BYTES
from providers.registries.aws_sd_label import AWS_SD, read_claims
from providers.registries.claim import Claim, ClaimVerdict, OwnershipState, PairedEndpoint, TxtProfile
from providers.registries.joining import join_stores
from providers.registries.pairing import pair
from providers.registries.store_contents import StoreContents
from providers.registries.txt_names import list_names_meant, parse_txt_name
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.json_codec import SetAside, decode_records
from providers.wire.media_type import MEDIA_TYPES, WEBHOOK_MEDIA_TYPE
from registry_app.models import Owner, Provider

_MAX_OWNER_ID = Owner._meta.get_field("owner_id").max_length or 0


@dataclass(frozen=True)
class Snapshot:
    """What one answer to `GET /records` says under the profiles known for its provider.

    `records` are sorted by key and hold each key once. Their `claims` are indexes into `claims`.
    `shadowed_names` are names of record sets that something set aside may be, or may speak for: they are
    neither absent nor unmanaged, they are not known. `profiles` are those it was read under, `aws_sd` the
    registry profile, by primary key as text, whose claims its endpoints carry in themselves, if there is one.
    """

    body: bytes
    body_digest: str
    content_type: str
    fetch_seconds: float
    records: tuple[PairedEndpoint, ...]
    claims: tuple[Claim, ...]
    set_aside: tuple[SetAside, ...]
    item_count: int
    shadowed_names: frozenset[str] = frozenset()
    profiles: tuple[TxtProfile, ...] = ()
    aws_sd: str = ""

    @property
    def has_protocol_type(self) -> bool:
        """Whether the Content-Type was one that a protocol names."""
        return self.content_type in MEDIA_TYPES


def fetch_snapshot(
    provider: Provider, client: ProviderClient, profiles: Sequence[TxtProfile], aws_sd: str = ""
) -> Snapshot:
    """Ask for all records now and decode them. Raises ProviderError or WireError; stores nothing."""
    return decode_answer(client.records(), profiles, aws_sd, max_items=provider.max_items)


def decode_answer(
    answer: RecordsAnswer, profiles: Sequence[TxtProfile], aws_sd: str = "", *, max_items: int
) -> Snapshot:
    """An answer that is at hand, as a snapshot. Raises WireError."""
    return decode_snapshot(
        answer.body,
        profiles,
        aws_sd,
        max_items=max_items,
        body_digest=answer.digest.hex(),
        content_type=answer.content_type,
        fetch_seconds=answer.seconds,
    )


def decode_snapshot(
    body: bytes,
    profiles: Sequence[TxtProfile],
    aws_sd: str = "",
    *,
    max_items: int,
    body_digest: str = "",
    content_type: str = WEBHOOK_MEDIA_TYPE,
    fetch_seconds: float = 0.0,
) -> Snapshot:
    """A body as a snapshot. Pure. Raises WireError where the body as a whole cannot be trusted (I3)."""
    decoded = decode_records(body, max_items=max_items)
    pairing = pair(decoded.endpoints, profiles)
    if aws_sd:
        described = StoreContents(aws_sd, AWS_SD, tuple(read_claims(decoded.endpoints)))
        pairing = join_stores(pairing, [described])
    records, claims = _refuse_long_owners(_merge_duplicates(pairing.records), pairing.claims)
    shadowed = _shadows(decoded.set_aside, profiles)
    return Snapshot(
        body=body,
        body_digest=body_digest or hashlib.blake2b(body, digest_size=DIGEST_BYTES).hexdigest(),
        content_type=content_type,
        fetch_seconds=fetch_seconds,
        records=tuple(_doubt(r, shadowed) for r in records) if shadowed else records,
        claims=claims,
        set_aside=tuple(decoded.set_aside),
        item_count=len(decoded.endpoints) + len(decoded.set_aside),
        shadowed_names=shadowed,
        profiles=tuple(profiles),
        aws_sd=aws_sd,
    )


def _refuse_long_owners(
    records: tuple[PairedEndpoint, ...], claims: tuple[Claim, ...]
) -> tuple[tuple[PairedEndpoint, ...], tuple[Claim, ...]]:
    """An owner id no column holds makes its claim unreadable, and what it speaks for unknown: calling that
    unmanaged would let somebody adopt another's record set."""
    refused = {index for index, claim in enumerate(claims) if len(claim.owner_id) > _MAX_OWNER_ID}
    if not refused:
        return records, claims
    problem = f"The owner id in the claim is longer than {_MAX_OWNER_ID} characters."
    return (
        tuple(_as_unknown(record) if refused.intersection(record.claims) else record for record in records),
        tuple(
            msgspec.structs.replace(claim, owner_id="", verdict=ClaimVerdict.UNREADABLE, problem=problem)
            if index in refused
            else claim
            for index, claim in enumerate(claims)
        ),
    )


def _as_unknown(record: PairedEndpoint) -> PairedEndpoint:
    return msgspec.structs.replace(record, state=OwnershipState.UNKNOWN, owner_id="", effective_claim=None)


def _merge_duplicates(records: tuple[PairedEndpoint, ...]) -> tuple[PairedEndpoint, ...]:
    """Each key once (I1). Several endpoints of one key, as some providers list one target each, become
    one with all their targets; the rest is the first one's, in the total order that pairing gives them."""
    if all(before.key != after.key for before, after in pairwise(records)):
        return records
    return tuple(_merge(list(group)) for _, group in groupby(records, key=attrgetter("key")))


def _merge(group: list[PairedEndpoint]) -> PairedEndpoint:
    first = group[0]
    if len(group) == 1:
        return first
    targets = tuple(dict.fromkeys(target for record in group for target in record.endpoint.targets))
    return msgspec.structs.replace(first, endpoint=msgspec.structs.replace(first.endpoint, targets=targets))


def _shadows(set_aside: Iterable[SetAside], profiles: Sequence[TxtProfile]) -> frozenset[str]:
    """Names of record sets that something set aside may be, or may speak for."""
    spellings = {item.name.lower().removesuffix(".") for item in set_aside if item.name}
    return frozenset(name for spelling in spellings for name in _shadow(spelling, (*profiles, TxtProfile())))


def _shadow(spelling: str, profiles: Iterable[TxtProfile]) -> Iterator[str]:
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


def _doubt(record: PairedEndpoint, shadowed: frozenset[str]) -> PairedEndpoint:
    """A record set whose claim may be what was set aside is not unmanaged: nobody may adopt it."""
    if record.state is OwnershipState.UNMANAGED and record.key.name in shadowed:
        return _as_unknown(record)
    return record
