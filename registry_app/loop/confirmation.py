"""How much one run may change unasked, and what a person types to have more changed. Pure."""

from dataclasses import dataclass

from providers.planning.planned_changes import PlannedChanges

SMALLEST_SHARED = 10
SHARE_PERCENT = 30


@dataclass(frozen=True)
class Circumstances:
    """What else the rules look at: how many record sets are the owner's now, how many endpoints it wants, and
    the provider's limit of record sets in one go. `is_first_contact`: it never was dnsadmin's to run."""

    own_count: int
    wanted_count: int
    most: int
    has_ownership: bool
    is_first_contact: bool


def find_excess(planned: PlannedChanges, around: Circumstances) -> str:
    """Why the plan is more than one run does unasked, in one sentence; empty if it is not."""
    creates, updates, deletes = len(planned.creates), len(planned.updates), len(planned.deletes)
    if deletes and not around.wanted_count:
        return "There is no desired endpoint, so every record set of the owner would be deleted."
    if not around.has_ownership and updates + deletes:
        return "Without ownership (noop), record sets are changed whoever created them."
    if around.is_first_contact and updates + deletes:
        return "dnsadmin never managed this owner here before, and the owner already has record sets."
    for count, verb in ((deletes, "deleted"), (updates, "changed")):
        if around.own_count >= SMALLEST_SHARED and count * 100 > around.own_count * SHARE_PERCENT:
            return f"{count} of {around.own_count} record sets would be {verb}, more than {SHARE_PERCENT} %."
    total = creates + updates + deletes
    if total > around.most:
        return (
            f"{total} record sets would change, more than the {around.most} that one transfer may change "
            "at this provider."
        )
    return ""


def build_confirmation_text(planned: PlannedChanges, owner_id: str) -> str:
    """The exact text to type for just these changes."""
    counts = {
        "create": len(planned.creates),
        "update": len(planned.updates),
        "delete": len(planned.deletes),
    }
    what = ", ".join(f"{verb} {count}" for verb, count in counts.items() if count)
    noun = "record set" if sum(counts.values()) == 1 else "record sets"
    return f"{what} {noun} of {owner_id}"


def is_confirmed(wanted: str, typed: str) -> bool:
    """Whether what was typed is the text, but for white space at its ends and doubled inside."""
    return not wanted or " ".join(typed.split()) == " ".join(wanted.split())
