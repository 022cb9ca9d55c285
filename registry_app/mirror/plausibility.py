"""Whether a response shows so little of what is known that it proves nothing. Pure.

A provider or a registry store that lost its data, or another server at the same address, answers without an
error. What is missing from such a response is not deleted, and what it does not show was not refused.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from providers.registries.encryption import looks_encrypted
from providers.wire.endpoint import Endpoint

# Of fewer than this many, only the loss of all of them is implausible.
FLOOR: Final = 10
# Below this share of what is known, a response is implausible.
PERCENT: Final = 70
_HERITAGE = "heritage="


class Shown(NamedTuple):
    """How much a response shows: record sets of other types than TXT, TXT record sets that are no claims, and
    TXT endpoints that look like claims."""

    typed: int
    texts: int
    claims: int

    @property
    def record_sets(self) -> int:
        return self.typed + self.texts

    def plus(self, other: "Shown") -> "Shown":
        return Shown(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NOTHING: Final = Shown(0, 0, 0)


def is_too_few(shown: int, known: int) -> bool:
    """Whether `shown` of `known` is an implausible loss: all of them, or more than 30 % of ten or more."""
    if known <= 0:
        return False
    return shown <= 0 or (known >= FLOOR and shown * 100 < PERCENT * known)


def count_shown(endpoints: Iterable[Endpoint]) -> Shown:
    """What endpoints of a zone show, without reading their claims. Several endpoints of one record set, as
    some providers list them, count once."""
    # Hashes in place of the names: there may be a million.
    typed, texts, claims = set[int](), set[int](), 0
    for endpoint in endpoints:
        place = hash((endpoint.dns_name, endpoint.record_type, endpoint.set_identifier))
        if endpoint.record_type.upper() != "TXT":
            typed.add(place)
        elif endpoint.targets and all(map(looks_like_claim, endpoint.targets)):
            claims += 1
        else:
            texts.add(place)
    return Shown(len(typed), len(texts), claims)


def looks_like_claim(text: str) -> bool:
    """Whether the text of a TXT record may be a claim, encrypted or not."""
    return _HERITAGE in text or looks_encrypted(text)
