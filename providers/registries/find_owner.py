"""Which owner a record set has: what the instances of each registry profile find, and what that adds up to.

Everything else here reads tolerantly, as DNS does, to find what may be meant. `ProfileView` does not: as
ExternalDNS does, it compares names and types as the provider spells them, reads only the first text of each
TXT endpoint, keeps the last of several claims it reads for one place, and uses the label `owner` that a
provider returns where it finds no claim. What ExternalDNS finds is what decides: it deletes records by it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from providers.registries.claim import Belief, OwnershipState, PairedEndpoint, TxtProfile
from providers.registries.claim_draft import ClaimDraft
from providers.registries.gather import Key, Record
from providers.registries.labels import OWNER, describe_unreadable_owner
from providers.registries.ownership import Precedence, is_alias, precedence
from providers.registries.txt_names import TxtNameReader, lower_as_go
from providers.wire.endpoint import Endpoint

_NOT_FIRST = "ExternalDNS reads only the first text of a TXT record, and this one comes after another."


class ProfileView:
    """A zone as the instances of one profile see it."""

    def __init__(self, profile: TxtProfile, drafts: Sequence[ClaimDraft]) -> None:
        self._profile = profile
        self._drafts = drafts
        # The last endpoint that is read for a place counts: where it is in the response, and its draft.
        self._labels: dict[Key, tuple[int, int]] = {}
        reader = TxtNameReader(profile)
        for number, part in self._iterate_read():
            key = self._read_key(drafts[number], part.endpoint, reader)
            known = self._labels.get(key) if key else None
            if key and (known is None or known[0] < part.place):
                self._labels[key] = (part.place, number)

    def find(self, endpoint: Endpoint) -> Belief | None:
        """The owner these instances find for an endpoint; None if they find none, or do not see it as a
        record. The owner id is empty where what they find cannot be read, or names nobody."""
        record_type = endpoint.record_type
        if record_type == "TXT" and (not endpoint.targets or _part_of(endpoint) in self._claim_parts):
            return None
        number = self._find_claim(endpoint, record_type) if self._labels else None
        if number is None or OWNER not in self._drafts[number].statement.labels:
            if endpoint.labels.get(OWNER):
                is_unreadable = bool(describe_unreadable_owner(endpoint.labels))
                return Belief(self._profile.reference, "" if is_unreadable else endpoint.labels[OWNER])
            return None if number is None else Belief(self._profile.reference, "", number)
        return Belief(self._profile.reference, self._drafts[number].owner_id, number)

    def _find_claim(self, endpoint: Endpoint, record_type: str) -> int | None:
        name, set_identifier = endpoint.dns_name, endpoint.set_identifier
        replacement = self._profile.wildcard_replacement
        if replacement and name.startswith("*") and name[1:2] in {"", "."}:
            name = replacement + name[1:]
        found = self._labels.get((name, record_type, set_identifier))
        if found is None and record_type == "A" and is_alias(endpoint):
            found = self._labels.get((name, "CNAME", set_identifier))
        if found is None and record_type != "AAAA":
            found = self._labels.get((name, "", set_identifier))
        return None if found is None else found[1]

    @cached_property
    def _claim_parts(self) -> set[tuple[str, str, str]]:
        """The TXT endpoints that these instances read as claims. Only asked for TXT record sets."""
        return {_part_of(part.endpoint) for _, part in self._iterate_read()}

    def _iterate_read(self) -> Iterator[tuple[int, Record]]:
        """The claims that these instances read: the number of the draft, and the TXT endpoint it is in."""
        profile_key = self._profile.encryption_key
        for number, draft in enumerate(self._drafts):
            statement = draft.statement
            key = statement.encryption_key
            if not statement.is_heritage or (key is not None and key != profile_key):
                continue
            for part in statement.txt.listed:
                if part.endpoint.record_type == "TXT" and part.endpoint.targets[:1] == (statement.raw,):
                    yield number, part

    def _read_key(self, draft: ClaimDraft, endpoint: Endpoint, reader: TxtNameReader) -> Key | None:
        """What the claim is for; None if the profile does not fit its name."""
        reference, txt = draft.reference, draft.txt
        if reference.profile is self._profile and endpoint.dns_name == txt.endpoint.dns_name == txt.key.name:
            # This name was read under this profile, letter by letter as it is spelled.
            return reference.name_read, reference.record_type, endpoint.set_identifier
        reading = reader.read(lower_as_go(endpoint.dns_name))
        return (reading.record_name, reading.record_type, endpoint.set_identifier) if reading else None


class OwnerFinder:
    """Decides on record sets one by one; what it finds of the claims gathers in the drafts."""

    def __init__(self, drafts: Sequence[ClaimDraft], views: Sequence[ProfileView]) -> None:
        self._drafts = drafts
        self._views = views

    def find(self, record: Record, candidates: Sequence[int]) -> PairedEndpoint:
        """The record set with its state; `candidates` are the claims that may be meant for it, as DNS reads
        names, in order of precedence."""
        found = self.collect(record)
        if len(found) == 1 and (found[0].claim,) == candidates and found[0].owner_id:
            # Nearly all record sets have one claim, which one profile obeys. The rule has nothing to weigh.
            (number,) = candidates
            self._drafts[number].decides = True
            return self._build(record, OwnershipState.OWNED, candidates, (), found[0].owner_id, number)
        return self.decide(record, candidates, found)

    def decide(self, record: Record, candidates: Sequence[int], found: Sequence[Belief]) -> PairedEndpoint:
        """The record set with its state, from what the profiles find. This is the whole rule."""
        if not candidates and not found:
            return self._build(record, OwnershipState.UNMANAGED)
        # What cannot be read is no belief.
        beliefs = tuple(dict.fromkeys(each for each in found if each.owner_id))
        obeyed = {belief.claim: None for belief in beliefs if belief.claim is not None}
        numbers = [*candidates, *(number for number in obeyed if number not in candidates)]
        owners = {belief.owner_id for belief in beliefs}
        if not owners:
            is_unknown = bool(found) or any(not self._drafts[number].owner_id for number in numbers)
            state = OwnershipState.UNKNOWN if is_unknown else OwnershipState.UNMANAGED
            has_unused = self._note_unused(record, numbers, None)
            return self._build(record, state, numbers, beliefs if has_unused else ())
        if len(owners) > 1:
            for number in obeyed:
                self._drafts[number].disagrees = True
            self._note_unused(record, [n for n in numbers if n not in obeyed], None, is_overruled=True)
            return self._build(record, OwnershipState.CONFLICT, numbers, beliefs)
        return self._build_owned(record, numbers, list(obeyed), beliefs)

    def collect(self, record: Record) -> list[Belief]:
        """What the profiles find."""
        found: list[Belief] = []
        for view in self._views:
            for part in record.listed:
                belief = view.find(part.endpoint)
                if belief is not None:
                    found.append(belief)
        return found

    def _build_owned(
        self, record: Record, numbers: list[int], obeyed: list[int], beliefs: tuple[Belief, ...]
    ) -> PairedEndpoint:
        record_type, owner_id = record.key.record_type, beliefs[0].owner_id
        obeyed.sort(key=lambda number: (self._rank(record_type, number), number))
        effective = obeyed[0] if obeyed else None
        rest: list[int] = []
        for number in numbers:
            draft = self._drafts[number]
            if number in obeyed:
                draft.decides = True
            elif obeyed and draft.owner_id == owner_id and draft.reference.record_type != record_type:
                is_alias_form = self._rank(record_type, number) is Precedence.ALIAS
                draft.is_obsolete |= is_alias_form
                draft.is_superseded |= not is_alias_form
            elif draft.owner_id:
                rest.append(number)
        has_more = self._note_unused(record, rest, effective, is_overruled=bool(obeyed))
        has_more |= any(belief.claim is None for belief in beliefs)
        ordered = numbers if effective is None else [effective, *(n for n in numbers if n != effective)]
        return self._build(
            record, OwnershipState.OWNED, ordered, beliefs if has_more else (), owner_id, effective
        )

    def _note_unused(
        self, record: Record, numbers: Sequence[int], effective: int | None, *, is_overruled: bool = False
    ) -> bool:
        """Mark readable claims that no profile obeys for this record set; whether there are any."""
        has_unused = False
        for number in numbers:
            draft = self._drafts[number]
            if not draft.owner_id:
                continue
            has_unused = True
            draft.is_overruled |= is_overruled
            draft.is_ignored |= not is_overruled
            draft.note_unused(self._explain_unused(record, draft, effective))
        return has_unused

    def _explain_unused(self, record: Record, draft: ClaimDraft, effective: int | None) -> str:
        raw = draft.statement.raw
        if not any(part.endpoint.targets[:1] == (raw,) for part in draft.txt.listed):
            return _NOT_FIRST
        if effective is not None:
            place = self._drafts[effective].txt_name
            where = f"the one at {place}" if place != draft.txt_name else "another one at the same name"
            return f"ExternalDNS uses {where} instead."
        if not _is_spelled_as_read(record, draft):
            claim, endpoint = draft.txt.listed[0].endpoint, record.endpoint
            return (
                "ExternalDNS compares names and types as the provider spells them: "
                f"{claim.dns_name} {claim.record_type} is not where it looks for the claim of "
                f"{endpoint.dns_name} {endpoint.record_type}."
            )
        return "It is not at a name where ExternalDNS looks for the claim under any registry profile."

    def _rank(self, record_type: str, number: int) -> Precedence:
        return precedence(record_type, self._drafts[number].reference.record_type)

    @staticmethod
    def _build(
        record: Record,
        state: OwnershipState,
        numbers: Sequence[int] = (),
        beliefs: tuple[Belief, ...] = (),
        owner_id: str = "",
        effective: int | None = None,
    ) -> PairedEndpoint:
        return PairedEndpoint(
            record.key, record.endpoint, state, owner_id, effective, tuple(numbers), beliefs, record.endpoints
        )


def _is_spelled_as_read(record: Record, draft: ClaimDraft) -> bool:
    """Whether the provider spells the names and types of both as we compare them: then it is not that."""
    spelled = (record.endpoint, *(part.endpoint for part in draft.txt.listed))
    return all(
        each.dns_name == each.dns_name.lower().removesuffix(".")
        and each.dns_name.isascii()
        and each.record_type == each.record_type.upper()
        for each in spelled
    )


def _part_of(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.dns_name, endpoint.set_identifier, endpoint.targets[0]
