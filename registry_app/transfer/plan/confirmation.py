"""What a person must type where the next sync may delete, or where nobody knows. Pure."""

from collections.abc import Sequence

from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.provider_plan import PlannedItem

_KIND = Transfer.Kind
_RISKY = (TransferItem.Verdict.DELETE, TransferItem.Verdict.NOT_REPLACED, TransferItem.Verdict.UNKNOWN)


def build_confirmation_text(
    kind: str, items: Sequence[PlannedItem], target_owner_id: str, *, left_behind: int = 0
) -> str:
    """The exact text to type for all items of a request, of all its providers; empty if none is needed.

    `left_behind` is how many record sets stay with their owner at names of which other types go.
    """
    if not left_behind and not any(item.verdict in _RISKY or item.settles_conflict for item in items):
        return ""
    text = _describe_act(kind, len(items), target_owner_id)
    return f"{text} and leave {left_behind} behind" if left_behind else text


def _describe_act(kind: str, count: int, target_owner_id: str) -> str:
    what = "1 record set" if count == 1 else f"{count} record sets"
    if kind == _KIND.TRANSFER:
        return f"transfer {what} to {target_owner_id}"
    if kind == _KIND.ADOPT:
        return f"adopt {what} for {target_owner_id}"
    return f"{Transfer.Kind(kind).value.replace('_', ' ')} {what}"


def is_confirmed(wanted: str, typed: str) -> bool:
    """Whether what was typed is the text, but for white space at its ends and doubled inside."""
    return not wanted or " ".join(typed.split()) == wanted
