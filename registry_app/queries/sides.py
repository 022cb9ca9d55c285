"""Both sides of a transfer or a hand-over: who gives, who takes, and who may act for them."""

from collections import defaultdict
from collections.abc import Iterable

from registry_app.actor import Actor
from registry_app.models import Consented, Grant, HandOver, Owner, Provider, Transfer, TransferItem
from registry_app.queries.access import may_act, may_act_everywhere
from registry_app.queries.approval_policy import find_policy

Side = Consented.Side
Reviewed = Transfer | HandOver
# Owner ids (comma between two, empty for nobody), and a name that they have or get.
Part = tuple[str, str]
_KIND = Transfer.Kind
_BOTH_SIDES = Provider.ApprovalPolicy.BOTH_SIDES
_OWNER_STAYS = (_KIND.REFORMAT, _KIND.CLEAN_UP)
_NOBODY = "record sets without an owner"


def other_side(side: str) -> Side:
    """The taker for the giver, and the giver for the taker."""
    return Side.TAKER if side == Side.GIVER else Side.GIVER


def list_side(row: Transfer, side: str, items: Iterable[Part] | None = None) -> Iterable[Part]:
    """Who gives, or takes, each name. `items`: current owners and names of those that are asked about; None:
    all of them."""
    given = row.items.values_list("owner_before", "name").order_by() if items is None else items
    if side == Side.GIVER:
        return given
    if row.undo_of is not None:
        return _list_former(row.undo_of, [name for _, name in given])
    return build_taking(row.kind, given, row.target_owner)


def build_taking(kind: str, given: Iterable[Part], target: Owner | None) -> list[Part]:
    """Who takes what is given in a transfer that undoes none: the target, nobody, or who has it already."""
    if target is not None:
        return [(target.owner_id, name) for _, name in given]
    return [("" if kind == _KIND.RELEASE else owner_ids, name) for owner_ids, name in given]


def _list_former(original: Transfer, names: Iterable[str]) -> list[Part]:
    """Who had the names before the transfer that is undone: they take them back."""
    wanted = set(names)
    rows = original.items.filter(status=TransferItem.Status.VERIFIED).order_by()
    return [part for part in rows.values_list("owner_before", "name") if part[1] in wanted]


def find_denied_side(
    actor: Actor,
    action: Grant.Action,
    provider: Provider,
    sides: Iterable[Part],
    target_owner: Owner | None = None,
) -> str | None:
    """A description of the first side on which `actor` lacks `action`; None if none is lacking.

    `sides` are (owner ids as they are now, comma between two, or empty; record name) of every item; without
    any of them nothing is allowed. A release, re-format or clean-up has no target side.
    """
    names_of: dict[str, set[str]] = defaultdict(set)
    all_names: set[str] = set()
    for owner_ids, name in sides:
        all_names.add(name)
        for owner_id in owner_ids.split(","):
            names_of[owner_id].add(name)
    if not names_of:
        return "no record sets at all"
    owners = {owner.owner_id: owner for owner in Owner.objects.filter(owner_id__in=list(names_of))}
    for owner_id, names in sorted(names_of.items()):
        if not may_act(actor, action, provider=provider, owner=owners.get(owner_id), names=names):
            return f"record sets of {owner_id}" if owner_id else "record sets that nobody owns"
    if target_owner and not may_act(actor, action, provider=provider, owner=target_owner, names=all_names):
        return f"record sets to {target_owner.owner_id}"
    return None


def find_denied_on_both(
    actor: Actor, action: Grant.Action, provider: Provider, giving: Iterable[Part], taking: Iterable[Part]
) -> str | None:
    """A description of both sides if `actor` has `action` on neither of them; None if on one of them."""
    denied = [find_denied_side(actor, action, provider, parts) for parts in (giving, taking)]
    return None if None in denied else " or ".join(dict.fromkeys(filter(None, denied)))


def find_denied_on_side(
    actor: Actor, action: Grant.Action, row: Reviewed, side: str, items: Iterable[Part] | None = None
) -> str | None:
    """A description of one side if `actor` lacks `action` there; None if not. `items` as in `list_side`."""
    if isinstance(row, Transfer):
        return find_denied_side(actor, action, row.provider, list_side(row, side, items))
    owner = row.from_owner if side == Side.GIVER else row.to_owner
    if items is None:
        names = row.items.order_by().values_list("name", flat=True)
        is_for_all = may_act_everywhere(actor, action, provider=row.provider, owner=owner)
        # There may be many, and a grant that is not narrowed to names covers them as it covers one.
        asked: Iterable[str] = names[:1] if is_for_all else names
    else:
        asked = [name for _, name in items]
    is_allowed = may_act(actor, action, provider=row.provider, owner=owner, names=asked)
    return None if is_allowed else f"record sets of {owner.owner_id}"


def may_act_on_side(actor: Actor, action: Grant.Action, row: Reviewed, side: str) -> bool:
    """Whether `actor` has `action` over one side of all of it."""
    return find_denied_on_side(actor, action, row, side) is None


def may_act_on_both(actor: Actor, action: Grant.Action, row: Reviewed) -> bool:
    """Whether `actor` has `action` over both sides of all of it."""
    if isinstance(row, HandOver):
        return all(may_act_on_side(actor, action, row, side) for side in Side)
    sides = row.items.values_list("owner_before", "name").order_by()
    return find_denied_side(actor, action, row.provider, sides, row.target_owner) is None


def may_take_part(actor: Actor, action: Grant.Action, row: Reviewed, policy: str = "") -> bool:
    """Whether `actor` has `action` over as much as the policy asks of one person: both sides or, where both
    sides agree, one of them. `policy`: another one than its own."""
    if (policy or find_policy(row)) != _BOTH_SIDES:
        return may_act_on_both(actor, action, row)
    return any(may_act_on_side(actor, action, row, side) for side in Side)


def name_side(row: Reviewed, side: str) -> str:
    """Who gives, or who takes: an owner id, or words where it is not one owner."""
    if isinstance(row, HandOver):
        return (row.from_owner if side == Side.GIVER else row.to_owner).owner_id
    owner = row.source_owner if side == Side.GIVER else row.target_owner
    if owner is not None:
        return owner.owner_id
    kind, is_giver = row.kind, side == Side.GIVER
    if row.undo_of is not None:  # what gave takes back
        kind, is_giver = row.undo_of.kind, not is_giver
    if kind in _OWNER_STAYS:
        return row.source_owner.owner_id if row.source_owner else "the owners"
    if kind == (_KIND.ADOPT if is_giver else _KIND.RELEASE):
        return _NOBODY
    return "the owners before" if row.undo_of is not None else "the owners"
