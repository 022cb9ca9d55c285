"""The plausibility rule: whether a response may be true, compared with what the mirror knows. Pure.

A provider or a registry store that lost its data, or another server at the same address, answers without an
error. What is missing from such a response is not deleted, and what it does not show was not refused. Syncs,
transfers, loops and resyncs all ask `find_reasons`; what they compare differs, the rule does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from providers.registries.encryption import looks_encrypted
from providers.wire.endpoint import Endpoint

_HERITAGE = "heritage="
_NAMED_LOSSES = 5


@dataclass(frozen=True)
class Thresholds:
    """The limits of the plausibility rule.

    `missing_percent` of what is known may be missing, where at least `floor` is known: of fewer, only the
    loss of all is implausible. The owners of `owners_changed_percent` of the owned record sets may change,
    `set_aside_percent` of the items may be unreadable, and `new_owners` owner ids may appear that nobody
    knew: no company adds more instances between two syncs, and whoever may write TXT records can forge them.
    """

    floor: int = 10
    missing_percent: int = 30
    owners_changed_percent: int = 30
    set_aside_percent: int = 1
    new_owners: int = 500

    def is_too_few(self, shown: int, known: int) -> bool:
        """Whether `shown` of `known` is an implausible loss."""
        if known <= 0:
            return False
        return shown <= 0 or (known >= self.floor and shown * 100 < (100 - self.missing_percent) * known)


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

    def minus(self, other: "Counts") -> "Counts":
        return Counts(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))


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


class Holding(NamedTuple):
    """The claims of one owner in one registry store; `owner_id` is empty for those that cannot be read."""

    store: str
    owner_id: str


@dataclass(frozen=True)
class LostClaims:
    """What an owner lost in a store: `known` claims it had, `shown` it has; `still_present` record sets are
    without theirs."""

    holding: Holding
    kind: str
    known: int
    shown: int
    still_present: int

    def __str__(self) -> str:
        which = (
            f"{self.still_present} of the {self.known} claims" if self.shown else f"all {self.known} claims"
        )
        if self.known == 1:
            which = "the one claim"
        return (
            f"{which} of {self.holding.owner_id or 'owners that cannot be read'} in the {self.kind} registry"
        )


@dataclass(frozen=True)
class Reason:
    """One reason to hold a response: a stable code, and a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """A response beside what was known. What a caller does not compare keeps its default: no reason.

    `known` and `claims_known` leave out what dnsadmin itself removed since. `owned` are known record sets
    with an owner that are still there; `owner_changed` those of them that have another owner now, or none.
    Who cannot compare owners gives `claims_lost`: any of these claims may have been an owner's only one.
    `set_aside_before` is how many the last stored snapshot had set aside: a share that a person accepted once
    is no news.
    """

    item_count: int
    known: int = 0
    still_there: int = 0
    claims_known: int = 0
    claims_seen: int = 0
    claims_lost: int = 0
    lost_claims: Sequence[LostClaims] = ()
    owned: int = 0
    owner_changed: int = 0
    new_owners: int = 0
    set_aside: int = 0
    set_aside_before: int = 0
    is_filter_changed: bool = False
    allow_empty: bool = False


def compare_counts(known: Counts, shown: Counts, item_count: int, *, allow_empty: bool = False) -> Comparison:
    """A response of which only the numbers are known. It is held at least as often as one whose record
    sets and owners are compared one by one."""
    missing = max(known.record_sets - shown.record_sets, 0)
    return Comparison(
        item_count=item_count,
        known=known.record_sets,
        still_there=shown.record_sets,
        claims_known=known.claims,
        claims_seen=shown.claims,
        claims_lost=max(known.claims - shown.claims, 0),
        owned=max(known.claims - missing, 0),
        allow_empty=allow_empty,
    )


def find_reasons(found: Comparison, thresholds: Thresholds) -> list[Reason]:
    """Every reason to hold the response; empty for a plausible one."""
    is_empty_allowed = found.allow_empty and found.item_count == 0
    reasons = [] if is_empty_allowed else _find_losses(found, thresholds)
    if found.owned and found.owner_changed * 100 > thresholds.owners_changed_percent * found.owned:
        reasons.append(
            Reason(
                "owners_changed",
                f"The owners of {found.owner_changed} of {found.owned} owned record sets changed.",
            )
        )
    if found.new_owners > thresholds.new_owners:
        reasons.append(
            Reason(
                "new_owners",
                f"The claims name {found.new_owners} new owner ids, more than {thresholds.new_owners} "
                "at once: they may be forged.",
            )
        )
    if found.is_filter_changed:
        reasons.append(Reason("domain_filter_changed", "The provider negotiated another domain filter."))
    is_news = found.set_aside > found.set_aside_before
    if is_news and found.set_aside * 100 > thresholds.set_aside_percent * found.item_count:
        reasons.append(
            Reason("set_aside", f"{found.set_aside} of {found.item_count} items could not be read.")
        )
    return reasons


def _find_losses(found: Comparison, thresholds: Thresholds) -> list[Reason]:
    known = max(found.known, 0)
    if not known and found.claims_known <= 0 and not found.lost_claims:
        return []
    if found.item_count == 0 and known:
        return [Reason("empty", f"The response is empty; the mirror holds {known} record sets.")]
    reasons: list[Reason] = []
    if known >= thresholds.floor and thresholds.is_too_few(found.still_there, known):
        reasons.append(
            Reason("shrunk", f"Only {found.still_there} of {known} known record sets are still there.")
        )
    if known and not found.still_there:
        reasons.append(
            Reason(
                "another_service",
                "None of the known record sets is there: another service may respond at this address.",
            )
        )
    if found.claims_known > 0 and not found.claims_seen:
        reasons.append(Reason("claims_gone", f"All {found.claims_known} known claims are gone."))
    elif found.claims_lost * 100 > thresholds.owners_changed_percent * max(found.owned, 0):
        reasons.append(
            Reason("claims_lost", f"{found.claims_lost} of {found.claims_known} known claims are gone.")
        )
    else:
        reasons += _find_lost_claims(found.lost_claims)
    return reasons


def _find_lost_claims(losses: Sequence[LostClaims]) -> list[Reason]:
    """However few they are beside others: a table made anew, or one owner's ConfigMap deleted."""
    emptied = [each for each in losses if not each.shown]
    shrunk = [each for each in losses if each.shown]
    found = (("store_emptied", emptied), ("store_shrunk", shrunk))
    return [Reason(code, _describe_losses(some)) for code, some in found if some]


def _describe_losses(losses: Sequence[LostClaims]) -> str:
    count = sum(each.still_present for each in losses)
    what = (
        "record set that they claimed is still there"
        if count == 1
        else "record sets that they claimed are still there"
    )
    listed = ", ".join(map(str, losses[:_NAMED_LOSSES]))
    rest = len(losses) - _NAMED_LOSSES
    more = f", and those of {rest} more owners" if rest > 0 else ""
    return f"Gone: {listed}{more}. {count} {what}."
