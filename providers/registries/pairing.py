"""Which endpoints are record sets and which are claims, and which claim is for which record set."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from providers.registries.claim import Claim, ClaimFormat, OwnershipState, PairedEndpoint, Pairing, TxtProfile
from providers.registries.claim_draft import ClaimDraft, draft_claim
from providers.registries.claim_reading import NameResolver, RecordIndex, Reference, Statement, read_statement
from providers.registries.find_owner import OwnerFinder, ProfileView
from providers.registries.gather import Gathered, Key, Record, gather
from providers.registries.ownership import is_alias
from providers.wire.change_set import format_all
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
    gathered = gather(endpoints)
    resolver = NameResolver(profiles, RecordIndex(gathered.records))
    drafts = _draft_claims(gathered, resolver, profiles)
    records = _find_owners(gathered.records.values(), drafts, resolver.tried)
    records += [_unnamed_record(endpoint) for endpoint in sorted(gathered.unnamed, key=format_all)]
    records.sort(key=attrgetter("key"))
    del gathered, resolver  # before the claims are made, of which there may be a million
    return Pairing(records=tuple(records), claims=tuple(_build_claims(drafts)))


class _Numbers:
    """Numbers of drafts under keys. Nearly all keys have one; only others cost a list."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], int] = {}
        self._several: dict[tuple[str, ...], list[int]] = {}

    def add(self, key: tuple[str, ...], number: int) -> None:
        first = self._first.setdefault(key, number)
        if first != number:
            self._several.setdefault(key, [first]).append(number)

    def list_of(self, key: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers under a key, in the order they were added."""
        first = self._first.get(key)
        if first is None:
            return ()
        return tuple(self._several[key]) if key in self._several else (first,)

    def cut(self, limit: int) -> Iterator[int]:
        """Leave `limit` numbers under each key; all the numbers where there were more."""
        for numbers in self._several.values():
            if len(numbers) > limit:
                yield from numbers
                del numbers[limit:]


class _ClaimsByRecord:
    """Every draft under the keys of the record sets that it is for, or may be meant for."""

    def __init__(self, drafts: Sequence[ClaimDraft]) -> None:
        self._drafts = drafts
        self._typed, self._legacy = _Numbers(), _Numbers()
        for number, draft in enumerate(drafts):
            reference, set_identifier = draft.reference, draft.txt.key.set_identifier
            for name in reference.record_names:
                if reference.record_type:
                    self._typed.add((name, reference.record_type, set_identifier), number)
                else:
                    self._legacy.add((name, set_identifier), number)
        # Usual zones have a handful of claims for one record set; the cost of many must not multiply.
        for numbers in (self._typed, self._legacy):
            for number in numbers.cut(MAX_CLAIMS_PER_RECORD_SET):
                drafts[number].set_aside(_CROWDED)

    def list_of(self, record: Record) -> tuple[int, ...]:
        """The numbers of the drafts for a record set, in order of precedence."""
        name, record_type, set_identifier = record.key
        found = self._typed.list_of(record.key)
        if record_type == "A" and is_alias(record.endpoint):
            found += self._typed.list_of((name, "CNAME", set_identifier))
        if record_type == "AAAA":
            return found
        legacy = self._legacy.list_of((name, set_identifier))
        if legacy and record_type == "TXT":
            # A TXT endpoint that mixes heritage with other targets does not claim itself.
            legacy = tuple(number for number in legacy if self._drafts[number].txt_name != name)
        return found + legacy


def _draft_claims(
    gathered: Gathered, resolver: NameResolver, profiles: Iterable[TxtProfile]
) -> list[ClaimDraft]:
    """Drafts of all claims, in a fixed order. TXT record sets that are none, or more, join the records.

    What merely looks encrypted is a claim where its name points to a record set. Those are settled
    first, against the record sets that are certain, so that guesses never lean on each other.
    """
    statements = _read_texts(gathered, profiles)
    drafts: list[ClaimDraft] = []
    late: dict[Key, Record] = {}
    for statement in statements:
        if not statement.is_guess:
            continue
        reference = resolver.resolve(statement)
        if reference is not None and _confirms_guess(reference):
            drafts.append(draft_claim(statement, reference))
        else:
            late[statement.txt.key] = statement.txt
    gathered.records.update(late)
    for statement in statements:
        if not statement.is_guess:
            reference = resolver.resolve(statement) or _own_name_reference(statement.txt.key)
            drafts.append(draft_claim(statement, reference))
    drafts.sort(key=ClaimDraft.sort_key)
    return drafts


def _read_texts(gathered: Gathered, profiles: Iterable[TxtProfile]) -> list[Statement]:
    """What the TXT record sets state. Those with something else in them join the records."""
    keys = sorted({profile.encryption_key for profile in profiles if profile.encryption_key is not None})
    statements: list[Statement] = []
    for txt in gathered.texts.values():
        targets = txt.endpoint.targets
        is_record = not targets
        for target in targets if len(targets) < 2 else dict.fromkeys(targets):
            statement = read_statement(txt, target, keys)
            if statement is None:
                is_record = True
            else:
                statements.append(statement)
        if is_record:
            gathered.records[txt.key] = txt
    gathered.texts.clear()
    return statements


def _find_owners(
    records: Iterable[Record], drafts: Sequence[ClaimDraft], profiles: Iterable[TxtProfile]
) -> list[PairedEndpoint]:
    by_record = _ClaimsByRecord(drafts)
    finder = OwnerFinder(drafts, [ProfileView(profile, drafts) for profile in profiles])
    return [finder.find(record, by_record.list_of(record)) for record in records]


def _build_claims(drafts: list[ClaimDraft]) -> Iterator[Claim]:
    """The claims in the order of the drafts, each of which goes when its claim is made."""
    drafts.reverse()
    while drafts:
        yield drafts.pop().to_claim()


def _confirms_guess(reference: Reference) -> bool:
    # In the legacy format of no registered profile any token beside a record would pass for a claim.
    return reference.exists and (reference.is_registered or reference.format is ClaimFormat.NEW)


def _own_name_reference(key: EndpointKey) -> Reference:
    """Where even the default format finds no record name, such as `a-.example.org`."""
    names = (key.name,)
    return Reference(TxtProfile(), key.name, names, "", ClaimFormat.LEGACY, exists=False, is_registered=False)


def _unnamed_record(endpoint: Endpoint) -> PairedEndpoint:
    key = EndpointKey(endpoint.dns_name.lower(), endpoint.record_type.upper(), endpoint.set_identifier)
    return PairedEndpoint(key, endpoint, OwnershipState.UNKNOWN, "", None, ())
