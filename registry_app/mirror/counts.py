"""How much a response shows, in numbers. Pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from providers.registries.encryption import looks_encrypted
from providers.wire.endpoint import Endpoint

_HERITAGE = "heritage="


class Counts(NamedTuple):
    """How much there is: record sets of other types than TXT, TXT record sets that are no claims, and TXT
    endpoints that look like claims."""

    typed: int
    texts: int
    claims: int

    @property
    def record_sets(self) -> int:
        return self.typed + self.texts

    def plus(self, other: "Counts") -> "Counts":
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NOTHING: Final = Counts(0, 0, 0)


def count_endpoints(endpoints: Iterable[Endpoint]) -> Counts:
    """How much a zone shows, without reading its claims. Several endpoints of one record set, as some
    providers list them, count once."""
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
    return Counts(len(typed), len(texts), claims)


def looks_like_claim(text: str) -> bool:
    """Whether the text of a TXT record may be a claim, encrypted or not."""
    return _HERITAGE in text or looks_encrypted(text)
