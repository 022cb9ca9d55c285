"""When a snapshot is not believed: the rules of the safety text, over counts alone. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry_app.mirror.lost_claims import LostClaims
from registry_app.mirror.plausibility import FLOOR, is_too_few
from registry_app.reconcile.rows.plan import Tally

OWNERS_PERCENT = 30
SET_ASIDE_PERCENT = 1
# No company adds so many instances between two syncs; whoever may write TXT records can forge them.
MOST_NEW_OWNERS = 500
_NAMED_LOSSES = 5


@dataclass(frozen=True)
class Suspicion:
    """One reason not to believe a snapshot: a stable code, and a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True)
class Circumstances:
    """What else the rules look at. `set_aside_before` is how many the last stored snapshot had set aside:
    a share that a person accepted once is no news."""

    item_count: int
    set_aside: int
    set_aside_before: int
    claims_removed_by_us: int
    allow_empty: bool
    is_filter_changed: bool
    new_owners: int


def find_suspicions(tally: Tally, around: Circumstances) -> list[Suspicion]:
    """Every rule the snapshot breaks; empty for a normal one."""
    is_empty_allowed = around.allow_empty and around.item_count == 0
    found = [] if is_empty_allowed else _find_losses(tally, around)
    if tally.owned and tally.owner_changed * 100 > OWNERS_PERCENT * tally.owned:
        found.append(
            Suspicion(
                "owners_changed",
                f"The owners of {tally.owner_changed} of {tally.owned} owned record sets changed.",
            )
        )
    if around.new_owners > MOST_NEW_OWNERS:
        found.append(
            Suspicion(
                "new_owners",
                f"The claims name {around.new_owners} owner ids that nobody knew, more than "
                f"{MOST_NEW_OWNERS} at once: they may be forged.",
            )
        )
    if around.is_filter_changed:
        found.append(Suspicion("domain_filter_changed", "The provider negotiated another domain filter."))
    is_news = around.set_aside > around.set_aside_before
    if is_news and around.set_aside * 100 > SET_ASIDE_PERCENT * around.item_count:
        found.append(
            Suspicion(
                "set_aside",
                f"{around.set_aside} of {around.item_count} items could not be taken over.",
            )
        )
    return found


def _find_losses(tally: Tally, around: Circumstances) -> list[Suspicion]:
    known = tally.known - tally.deleted_by_us
    if not known and tally.claims_known <= around.claims_removed_by_us:
        return []
    if around.item_count == 0:
        return [Suspicion("empty", f"The answer is empty; the mirror holds {known} record sets.")]
    found: list[Suspicion] = []
    if known >= FLOOR and is_too_few(tally.still_there, known):
        found.append(
            Suspicion("shrunk", f"Only {tally.still_there} of {known} known record sets are still there.")
        )
    if known and not tally.still_there:
        found.append(
            Suspicion(
                "another_service",
                "None of the known record sets is there: another service may answer at this address.",
            )
        )
    if tally.claims_known > around.claims_removed_by_us and not tally.claims_seen:
        found.append(Suspicion("claims_gone", f"All {tally.claims_known} known claims are gone."))
    else:
        found += _find_lost_claims(tally.lost_claims)
    return found


def _find_lost_claims(losses: Sequence[LostClaims]) -> list[Suspicion]:
    """However few they are beside others: a table made anew, or one owner's ConfigMap deleted."""
    emptied = [each for each in losses if not each.shown]
    shrunk = [each for each in losses if each.shown]
    found = (("store_emptied", emptied), ("store_shrunk", shrunk))
    return [Suspicion(code, _describe_losses(some)) for code, some in found if some]


def _describe_losses(losses: Sequence[LostClaims]) -> str:
    standing = sum(each.standing for each in losses)
    what = (
        "record set that they spoke for stands" if standing == 1 else "record sets that they spoke for stand"
    )
    listed = ", ".join(map(str, losses[:_NAMED_LOSSES]))
    rest = len(losses) - _NAMED_LOSSES
    more = f", and those of {rest} more owners" if rest > 0 else ""
    return f"Gone: {listed}{more}. {standing} {what} as before."
