"""Which endpoints are record sets and which are claims, and which claim is for which record set."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from providers.registries.claim import ClaimFormat, OwnershipState, PairedEndpoint, Pairing, TxtProfile
from providers.registries.claim_draft import ClaimDraft, TxtEndpoint, TxtPart, draft_claim
from providers.registries.claim_reading import (
    NameResolver,
    RecordIndex,
    Reference,
    Statement,
    list_tried,
    read_statement,
)
from providers.registries.find_owner import OwnerFinder, ProfileView, Record
from providers.registries.ownership import is_alias
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import format_all, merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey

MAX_CLAIMS_PER_RECORD_SET = 100
_CROWDED = f"More than {MAX_CLAIMS_PER_RECORD_SET} claims exist for one record set, so all are ignored."


def pair(endpoints: Iterable[Endpoint], profiles: Sequence[TxtProfile]) -> Pairing:
    """All endpoints of one provider as record sets and claims, under all its registry profiles.

    Pure and total: any text is accepted. The order of the profiles does not show in the result, nor does
    that of the endpoints, but for two things: of several TXT endpoints that ExternalDNS reads for one place
    the last counts, and the targets of several endpoints of one identity keep the order they came in.
    Without profiles the default one applies. Each identity comes out once. A TXT record set that mixes
    heritage with other targets is both: its heritage targets are claims, and it is a record set too. An
    endpoint whose name cannot be read stays a record set of unknown ownership.

    An owner is who ExternalDNS takes for it: owned is what all profiles that find an owner find the same for.
    """
    sorted_out = _sort_out(endpoints, profiles)
    index = RecordIndex()
    index.add((record.key, record.endpoint) for record in sorted_out.records)
    drafts = _draft_claims(sorted_out, NameResolver(profiles, index), index)
    drafts.sort(key=ClaimDraft.sort_key)
    by_record = _ClaimsByRecord(drafts)
    finder = OwnerFinder(drafts, [ProfileView(profile, drafts) for profile in list_tried(profiles)])
    records = [finder.find(each, by_record.of(each.key, each.endpoint)) for each in sorted_out.records]
    records += [_unnamed_record(endpoint) for endpoint in sorted(sorted_out.unnamed, key=format_all)]
    records.sort(key=attrgetter("key"))
    return Pairing(records=tuple(records), claims=tuple(draft.to_claim() for draft in drafts))


class _SortedOut(NamedTuple):
    records: list[Record]
    txts: list[TxtEndpoint]
    unnamed: list[Endpoint]


class _ClaimsByRecord:
    """Every draft under the keys of the record sets that it is for, or may be meant for."""

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
        """The numbers of the drafts for a record set, in order of precedence."""
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
        """Usual zones have a handful of claims for one record set; the cost of many must not multiply."""
        for number in numbers:
            self.drafts[number].set_aside(_CROWDED)
        del numbers[MAX_CLAIMS_PER_RECORD_SET:]


class _Gathered:
    """Endpoints by identity, in the order they came. Nearly all identities have one; only others cost."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self.first: dict[EndpointKey, Endpoint] = {}
        self.unnamed: list[Endpoint] = []
        self._places: dict[EndpointKey, int] = {}
        self._several: dict[EndpointKey, list[TxtPart]] = {}
        for place, endpoint in enumerate(endpoints):
            try:
                key = endpoint_key(endpoint)
            except InvalidName:
                self.unnamed.append(endpoint)
                continue
            first = self.first.setdefault(key, endpoint)
            if key not in self._places:
                self._places[key] = place
            else:
                parts = self._several.setdefault(key, [TxtPart(self._places[key], first)])
                parts.append(TxtPart(place, endpoint))

    def parts_of(self, key: EndpointKey) -> tuple[TxtPart, ...]:
        """All endpoints of an identity."""
        several = self._several.get(key)
        return tuple(several) if several else (TxtPart(self._places[key], self.first[key]),)

    def endpoints_of(self, key: EndpointKey) -> tuple[Endpoint, ...]:
        """All endpoints of an identity that has several; empty for all others."""
        several = self._several.get(key)
        return tuple(part.endpoint for part in several) if several else ()


def _sort_out(endpoints: Iterable[Endpoint], profiles: Iterable[TxtProfile]) -> _SortedOut:
    keys = sorted({profile.encryption_key for profile in profiles if profile.encryption_key is not None})
    gathered = _Gathered(endpoints)
    sorted_out = _SortedOut([], [], gathered.unnamed)
    for key, first in gathered.first.items():
        parts = gathered.endpoints_of(key)
        endpoint = merge_parts(parts) if parts else first
        record = Record(key, endpoint, parts)
        statements: list[Statement] = []
        if key.record_type == "TXT":
            found = [read_statement(target, keys) for target in dict.fromkeys(endpoint.targets)]
            statements = [statement for statement in found if statement is not None]
        if not statements:
            sorted_out.records.append(record)
            continue
        is_record_too = len(statements) < len(found)
        sorted_out.txts.append(TxtEndpoint(key, endpoint, gathered.parts_of(key), statements, is_record_too))
        if is_record_too:
            sorted_out.records.append(record)
    return sorted_out


def _draft_claims(sorted_out: _SortedOut, resolver: NameResolver, index: RecordIndex) -> list[ClaimDraft]:
    """Drafts of all claims. TXT endpoints whose guessed claims prove to be ordinary join the records.

    What merely looks encrypted is a claim where its name points to a record set. Those are settled
    first, against the record sets that are certain, so that guesses never lean on each other.
    """
    drafts: list[ClaimDraft] = []
    late: list[Record] = []
    for txt in sorted_out.txts:
        for statement in txt.statements:
            if not statement.is_guess:
                continue
            reference = resolver.resolve(txt.endpoint, txt.key, statement)
            if reference is not None and _confirms_guess(reference):
                drafts.append(draft_claim(txt, statement, reference))
            elif not txt.is_record_too and (not late or late[-1].key != txt.key):
                late.append(_record_of(txt))
    index.add((record.key, record.endpoint) for record in late)
    sorted_out.records.extend(late)
    for txt in sorted_out.txts:
        for statement in txt.statements:
            if not statement.is_guess:
                reference = resolver.resolve(txt.endpoint, txt.key, statement)
                reference = reference or _own_name_reference(txt.key)
                drafts.append(draft_claim(txt, statement, reference))
    return drafts


def _record_of(txt: TxtEndpoint) -> Record:
    parts = tuple(part.endpoint for part in txt.parts)
    return Record(txt.key, txt.endpoint, parts if len(parts) > 1 else ())


def _confirms_guess(reference: Reference) -> bool:
    # In the legacy format of no registered profile any token beside a record would pass for a claim.
    return reference.exists and (reference.is_registered or reference.format is ClaimFormat.NEW)


def _own_name_reference(key: EndpointKey) -> Reference:
    """Where even the default format finds no record name, such as `a-.example.org`."""
    return Reference(TxtProfile(), (key.name,), "", ClaimFormat.LEGACY, exists=False, is_registered=False)


def _unnamed_record(endpoint: Endpoint) -> PairedEndpoint:
    key = EndpointKey(endpoint.dns_name.lower(), endpoint.record_type.upper(), endpoint.set_identifier)
    return PairedEndpoint(key, endpoint, OwnershipState.UNKNOWN, "", None, ())
