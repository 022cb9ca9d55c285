"""What the instances of one registry profile believe: ExternalDNS's own reading, letter by letter.

Everything else here reads tolerantly, as DNS does, to find what may be meant. This does not: ExternalDNS
compares names and types as the provider spells them, reads only the first text of each TXT endpoint, keeps
the last of several claims it reads for one place, and takes the label `owner` that a provider returns where
it finds no claim. Who is right about an owner is whoever deletes records by it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from providers.registries.claim import TxtProfile
from providers.registries.claim_draft import ClaimDraft
from providers.registries.labels import OWNER, describe_unreadable_owner
from providers.registries.ownership import is_alias
from providers.registries.txt_names import TxtNameReader, lower_as_go
from providers.wire.endpoint import Endpoint

_Key = tuple[str, str, str]


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


def _is_legible(draft: ClaimDraft, profile: TxtProfile) -> bool:
    key = draft.statement.encryption_key
    return draft.statement.is_heritage and (key is None or key == profile.encryption_key)


def _part_of(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.dns_name, endpoint.set_identifier, endpoint.targets[0]
