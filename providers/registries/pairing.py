"""Telling record sets and claims apart, and finding out which claim speaks for which record set."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

import msgspec

from providers.registries.claim import ClaimFormat, OwnershipState, PairedEndpoint, Pairing, TxtProfile
from providers.registries.claim_draft import ClaimDraft, draft_claim
from providers.registries.claim_reading import (
    NameResolver,
    RecordIndex,
    Reference,
    Statement,
    read_statement,
)
from providers.registries.ownership import Precedence, is_alias, precedence
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey

_T = TypeVar("_T")
_Record = tuple[EndpointKey, Endpoint]
MAX_CLAIMS_PER_RECORD_SET = 100
_CROWDED = f"More than {MAX_CLAIMS_PER_RECORD_SET} claims speak for one record set, so none is believed."


def pair(endpoints: Iterable[Endpoint], profiles: Sequence[TxtProfile]) -> Pairing:
    """All endpoints of one provider as record sets and claims, under all its registry profiles.

    Pure and total: any text is accepted, and neither the order of the endpoints nor that of the
    profiles shows in the result. Without profiles the default one applies. A TXT endpoint that mixes
    heritage with other targets is both: its heritage targets are claims, and it is a record set too.
    An endpoint whose name cannot be read stays a record set of unknown ownership.
    """
    sorted_out = _sort_out(endpoints, profiles)
    index = RecordIndex()
    index.add(sorted_out.records)
    drafts = _draft_claims(sorted_out, NameResolver(profiles, index), index)
    _sort_totally(drafts, ClaimDraft.sort_key, attrgetter("endpoint"))
    speakers = _Speakers(drafts)
    records = [_judge(record, speakers) for record in sorted_out.records]
    records += [_unnamed_record(endpoint) for endpoint in sorted_out.unnamed]
    _sort_totally(records, attrgetter("key"), attrgetter("endpoint"))
    return Pairing(records=tuple(records), claims=tuple(draft.to_claim() for draft in drafts))


class _TxtEndpoint(msgspec.Struct, frozen=True, gc=False):
    """A TXT endpoint with at least one target that is, or may be, a claim."""

    key: EndpointKey
    endpoint: Endpoint
    statements: list[Statement]
    is_record_too: bool


class _SortedOut(NamedTuple):
    records: list[_Record]
    txts: list[_TxtEndpoint]
    unnamed: list[Endpoint]


class _Speakers:
    """Every draft under the keys of the record sets it speaks for."""

    def __init__(self, drafts: Sequence[ClaimDraft]) -> None:
        self.drafts = drafts
        self._typed: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._legacy: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, draft in enumerate(drafts):
            set_identifier = draft.endpoint.set_identifier
            record_type = draft.reference.record_type
            for name in draft.reference.record_names:
                if record_type:
                    self._typed[name, record_type, set_identifier].append(number)
                else:
                    self._legacy[name, set_identifier].append(number)

        for numbers in (*self._typed.values(), *self._legacy.values()):
            if len(numbers) > MAX_CLAIMS_PER_RECORD_SET:
                self._set_aside(numbers)

    def of(self, key: EndpointKey, endpoint: Endpoint) -> Sequence[int]:
        """The numbers of the drafts that speak for a record set, in order of precedence."""
        name, record_type, set_identifier = key
        found: Sequence[int] = self._typed.get(key, ())
        if endpoint.provider_specific and record_type == "A" and is_alias(endpoint):
            found = [*found, *self._typed.get((name, "CNAME", set_identifier), ())]
        if record_type == "AAAA":
            return found
        legacy: Sequence[int] = self._legacy.get((name, set_identifier), ())
        if legacy and record_type == "TXT":
            # A TXT endpoint that mixes heritage with other targets does not claim itself.
            legacy = [number for number in legacy if self.drafts[number].txt_name != name]
        return [*found, *legacy] if legacy else found

    def _set_aside(self, numbers: list[int]) -> None:
        """Honest zones hold a handful of claims for one record set; the cost of a crowd must not multiply."""
        for number in numbers:
            self.drafts[number].set_aside(_CROWDED)
        del numbers[MAX_CLAIMS_PER_RECORD_SET:]


def _sort_out(endpoints: Iterable[Endpoint], profiles: Iterable[TxtProfile]) -> _SortedOut:
    keys = sorted({profile.encryption_key for profile in profiles if profile.encryption_key is not None})
    sorted_out = _SortedOut([], [], [])
    for endpoint in endpoints:
        try:
            key = endpoint_key(endpoint)
        except InvalidName:
            sorted_out.unnamed.append(endpoint)
            continue
        statements: list[Statement] = []
        if key.record_type == "TXT":
            found = [read_statement(target, keys) for target in dict.fromkeys(endpoint.targets)]
            statements = [statement for statement in found if statement is not None]
        if not statements:
            sorted_out.records.append((key, endpoint))
            continue
        is_record_too = len(statements) < len(found)
        sorted_out.txts.append(_TxtEndpoint(key, endpoint, statements, is_record_too))
        if is_record_too:
            sorted_out.records.append((key, endpoint))
    return sorted_out


def _draft_claims(sorted_out: _SortedOut, resolver: NameResolver, index: RecordIndex) -> list[ClaimDraft]:
    """Drafts of all claims. TXT endpoints whose guessed claims prove to be ordinary join the records.

    What merely looks encrypted is a claim where its name points to a record set. Those are settled
    first, against the record sets that are certain, so that guesses never lean on each other.
    """
    drafts: list[ClaimDraft] = []
    late: list[_Record] = []
    for txt in sorted_out.txts:
        for statement in txt.statements:
            if not statement.is_guess:
                continue
            reference = resolver.resolve(txt.endpoint, txt.key, statement)
            if reference is not None and _confirms_guess(reference):
                drafts.append(draft_claim(txt.key, txt.endpoint, statement, reference))
            elif not txt.is_record_too and (not late or late[-1][1] is not txt.endpoint):
                late.append((txt.key, txt.endpoint))
    index.add(late)
    sorted_out.records.extend(late)
    for txt in sorted_out.txts:
        for statement in txt.statements:
            if not statement.is_guess:
                reference = resolver.resolve(txt.endpoint, txt.key, statement)
                reference = reference or _own_name_reference(txt.key)
                drafts.append(draft_claim(txt.key, txt.endpoint, statement, reference))
    return drafts


def _confirms_guess(reference: Reference) -> bool:
    # In the legacy format of nobody's profile any token beside a record would pass for a claim.
    return reference.exists and (reference.is_registered or reference.format is ClaimFormat.NEW)


def _own_name_reference(key: EndpointKey) -> Reference:
    """Where even the default format finds no record name, such as `a-.example.org`."""
    return Reference(TxtProfile(), (key.name,), "", ClaimFormat.LEGACY, exists=False, is_registered=False)


def _judge(record: _Record, speakers: _Speakers) -> PairedEndpoint:
    key, endpoint = record
    numbers = speakers.of(key, endpoint)
    if not numbers:
        return PairedEndpoint(key, endpoint, OwnershipState.UNMANAGED, "", None, ())
    readable = [number for number in numbers if speakers.drafts[number].owner_id]
    if not readable:
        return PairedEndpoint(key, endpoint, OwnershipState.UNKNOWN, "", None, tuple(numbers))
    drafts = [speakers.drafts[number] for number in readable]
    first = drafts[0]
    if any(draft.owner_id != first.owner_id for draft in drafts):
        for draft in drafts:
            draft.disagrees = True
        return PairedEndpoint(key, endpoint, OwnershipState.CONFLICT, "", None, tuple(numbers))
    _note_agreement(key.record_type, drafts)
    effective = readable[0]
    rest = [number for number in numbers if number != effective]
    return PairedEndpoint(key, endpoint, OwnershipState.OWNED, first.owner_id, effective, (effective, *rest))


def _note_agreement(record_type: str, drafts: Sequence[ClaimDraft]) -> None:
    """All of one owner: the best precedence decides, what comes behind it is left over.

    Two claims of the best precedence, under two profiles, both decide: each is the one its instance sees.
    """
    best = precedence(record_type, drafts[0].reference.record_type)
    for draft in drafts:
        rank = precedence(record_type, draft.reference.record_type)
        if rank == best:
            draft.decides = True
        elif rank is Precedence.ALIAS:
            draft.is_obsolete = True
        else:
            draft.is_superseded = True


def _unnamed_record(endpoint: Endpoint) -> PairedEndpoint:
    key = EndpointKey(endpoint.dns_name.lower(), endpoint.record_type.upper(), endpoint.set_identifier)
    return PairedEndpoint(key, endpoint, OwnershipState.UNKNOWN, "", None, ())


def _sort_totally(
    items: list[_T], sort_key: Callable[[_T], tuple[str, ...]], endpoint_of: Callable[[_T], Endpoint]
) -> None:
    """Sort in place; items of one key by all their endpoint holds, so that no order is left to chance."""
    items.sort(key=sort_key)
    start = 0
    for end in range(1, len(items) + 1):
        if end < len(items) and sort_key(items[end]) == sort_key(items[start]):
            continue
        if end - start > 1:
            items[start:end] = sorted(items[start:end], key=lambda item: _fingerprint(endpoint_of(item)))
        start = end


def _fingerprint(endpoint: Endpoint) -> str:
    fields = (
        endpoint.dns_name,
        endpoint.record_type,
        endpoint.targets,
        endpoint.record_ttl,
        sorted(endpoint.labels.items()),
        [(item.name, item.value) for item in endpoint.provider_specific],
    )
    return repr(fields)
