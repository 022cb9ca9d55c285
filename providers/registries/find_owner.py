"""Which owner a record set has: what the instances of each registry profile find, and what that adds up to.

Everything else here reads tolerantly, as DNS does, to find what may be meant. `ProfileView` does not: as
ExternalDNS does, it compares names and types as the provider spells them, reads only the first text of each
TXT endpoint, keeps the last of several claims it reads for one place, and uses the label `owner` that a
provider returns where it finds no claim. What ExternalDNS finds is what decides: it deletes records by it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from providers.registries.claim import Belief, OwnershipState, PairedEndpoint, TxtProfile
from providers.registries.claim_draft import ClaimDraft
from providers.registries.labels import OWNER, describe_unreadable_owner
from providers.registries.ownership import Precedence, is_alias, precedence
from providers.registries.txt_names import TxtNameReader, lower_as_go
from providers.wire.endpoint import Endpoint, EndpointKey

_Key = tuple[str, str, str]
_NOT_FIRST = "ExternalDNS reads only the first text of a TXT record, and this one comes after another."


class Found(NamedTuple):
    """What a profile finds for a record set. `owner_id` is empty where what it finds cannot be read, or
    names nobody; `claim` is the number of the draft, None for the provider's label."""

    owner_id: str
    claim: int | None


class ProfileView:
    """A zone as the instances of one profile see it."""

    def __init__(self, profile: TxtProfile, drafts: Sequence[ClaimDraft]) -> None:
        self.reference = profile.reference
        self._drafts = drafts
        self._wildcard_replacement = profile.wildcard_replacement
        self._labels: dict[_Key, int] = {}
        self._claim_parts: set[tuple[str, str, str]] = set()
        places: dict[_Key, int] = {}
        reader = TxtNameReader(profile)
        for number, draft in enumerate(drafts):
            if not _is_legible(draft, profile):
                continue
            for part in draft.txt.parts:
                endpoint = part.endpoint
                if endpoint.record_type != "TXT" or endpoint.targets[:1] != (draft.statement.raw,):
                    continue
                self._claim_parts.add(_part_of(endpoint))
                reading = reader.read(lower_as_go(endpoint.dns_name))
                if reading is None:
                    continue
                key = (reading.record_name, reading.record_type, endpoint.set_identifier)
                if places.get(key, -1) < part.place:
                    places[key], self._labels[key] = part.place, number

    def find(self, endpoint: Endpoint) -> Found | None:
        """The owner these instances find for an endpoint; None if they find none, or do not see it as a
        record."""
        record_type = endpoint.record_type
        if record_type == "TXT" and (not endpoint.targets or _part_of(endpoint) in self._claim_parts):
            return None
        number = self._find_claim(endpoint, record_type) if self._labels else None
        if number is None or OWNER not in self._drafts[number].statement.labels:
            if endpoint.labels.get(OWNER):
                return Found(
                    "" if describe_unreadable_owner(endpoint.labels) else endpoint.labels[OWNER], None
                )
            return None if number is None else Found("", number)
        return Found(self._drafts[number].owner_id, number)

    def _find_claim(self, endpoint: Endpoint, record_type: str) -> int | None:
        name, set_identifier = endpoint.dns_name, endpoint.set_identifier
        if self._wildcard_replacement and name.startswith("*") and name[1:2] in {"", "."}:
            name = self._wildcard_replacement + name[1:]
        number = self._labels.get((name, record_type, set_identifier))
        if number is None and record_type == "A" and endpoint.provider_specific and is_alias(endpoint):
            number = self._labels.get((name, "CNAME", set_identifier))
        if number is None and record_type != "AAAA":
            number = self._labels.get((name, "", set_identifier))
        return number


class Record(NamedTuple):
    """A record set before its claims are known; `parts` as in PairedEndpoint."""

    key: EndpointKey
    endpoint: Endpoint
    parts: tuple[Endpoint, ...] = ()


class OwnerFinder:
    """Decides on record sets one by one; what it finds of the claims gathers in the drafts."""

    def __init__(self, drafts: Sequence[ClaimDraft], views: Sequence[ProfileView]) -> None:
        self._drafts = drafts
        self._views = views

    def find(self, record: Record, candidates: Sequence[int]) -> PairedEndpoint:
        """The record set with its state; `candidates` are the claims that may be meant for it, as DNS reads
        names, in order of precedence."""
        beliefs, unread = self._collect(record)
        if not candidates and not beliefs and not unread:
            return self._build(record, OwnershipState.UNMANAGED)
        obeyed = {belief.claim: None for belief in beliefs if belief.claim is not None}
        numbers = [*candidates, *(number for number in obeyed if number not in candidates)]
        owners = {belief.owner_id for belief in beliefs}
        if not owners:
            is_unknown = unread or any(not self._drafts[number].owner_id for number in numbers)
            state = OwnershipState.UNKNOWN if is_unknown else OwnershipState.UNMANAGED
            has_unused = self._note_unused(record, numbers, None)
            return self._build(record, state, numbers, beliefs if has_unused else ())
        if len(owners) > 1:
            for number in obeyed:
                self._drafts[number].disagrees = True
            self._note_unused(record, [n for n in numbers if n not in obeyed], None, is_overruled=True)
            return self._build(record, OwnershipState.CONFLICT, numbers, beliefs)
        return self._build_owned(record, numbers, list(obeyed), beliefs)

    def _collect(self, record: Record) -> tuple[tuple[Belief, ...], bool]:
        """What the profiles find, and whether one of them finds something that cannot be read."""
        beliefs: dict[Belief, None] = {}
        unread = False
        for view in self._views:
            for endpoint in record.parts or (record.endpoint,):
                found = view.find(endpoint)
                if found is None:
                    continue
                if found.owner_id:
                    beliefs[Belief(view.reference, found.owner_id, found.claim)] = None
                else:
                    unread = True
        return tuple(beliefs), unread

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
        if not any(part.endpoint.targets[:1] == (raw,) for part in draft.txt.parts):
            return _NOT_FIRST
        if effective is not None:
            place = self._drafts[effective].txt_name
            where = f"the one at {place}" if place != draft.txt_name else "another one at the same name"
            return f"ExternalDNS uses {where} instead."
        if not _is_spelled_as_read(record, draft):
            claim, endpoint = draft.txt.parts[0].endpoint, record.endpoint
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
            record.key, record.endpoint, state, owner_id, effective, tuple(numbers), beliefs, record.parts
        )


def _is_spelled_as_read(record: Record, draft: ClaimDraft) -> bool:
    """Whether the provider spells the names and types of both as we compare them: then it is not that."""
    spelled = (record.endpoint, *(part.endpoint for part in draft.txt.parts))
    return all(
        each.dns_name == each.dns_name.lower().removesuffix(".")
        and each.dns_name.isascii()
        and each.record_type == each.record_type.upper()
        for each in spelled
    )


def _is_legible(draft: ClaimDraft, profile: TxtProfile) -> bool:
    key = draft.statement.encryption_key
    return draft.statement.is_heritage and (key is None or key == profile.encryption_key)


def _part_of(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.dns_name, endpoint.set_identifier, endpoint.targets[0]
