"""What is true of transfers, and what may be done with them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from django.db.models import Q

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import Grant, Provider, Transfer, TransferItem
from registry_app.queries.people import find_same_people
from registry_app.queries.provider import build_free_query
from registry_app.queries.transfer_access import may_act_on_transfer, may_cancel
from registry_app.queries.transfer_items import find_left_to_undo

_STATUS = Transfer.Status
_ITEM = TransferItem.Status
# Something was written, and nothing of it is open any more.
UNDOABLE = (_STATUS.VERIFIED, _STATUS.FAILED)
# What the name of an approval by policy begins with. No user name has a blank, so nobody's looks like this.
POLICY_APPROVES = "the policy of "
_MOVING = (_STATUS.APPROVED, _STATUS.SENDING, _STATUS.SENT)
_MOST_DUE = 500
_LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True)
class AllowedAction:
    """Something this actor may do now. `consequence` says in plain words what follows from it.

    `action` is approve, reject, cancel, undo, or a decision: look_again, send_again, keep_as_is.
    """

    action: str
    label: str
    consequence: str
    needs_reason: bool = True


@dataclass(frozen=True)
class Progress:
    """How far a transfer is. `summary` is one sentence; `is_moving` means: look again soon."""

    total: int
    verified: int
    failed: int
    needs_operator: int
    pending: int
    percent: int
    is_moving: bool
    summary: str


# What an operator can decide about a transfer that is neither as it was nor as wanted.
DECISIONS: Mapping[str, AllowedAction] = MappingProxyType(
    {
        "look_again": AllowedAction(
            "look_again",
            "Look again",
            "The provider is read once more and nothing is sent. Items that it shows as wanted are "
            "verified, items that it shows as before have failed, and the rest still needs an "
            "operator.",
        ),
        "send_again": AllowedAction(
            "send_again",
            "Send again",
            "The provider is read. Items that it still shows as reviewed are sent once more, as "
            "approved. Items that somebody else changed are left alone and still need an operator.",
        ),
        "keep_as_is": AllowedAction(
            "keep_as_is",
            "Keep as it is",
            "Nothing is read or sent. The transfer ends as failed. Its names are free for another "
            "transfer, and its verified items can be undone.",
        ),
    }
)


def allowed_actions(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    """What `actor` may do with the transfer as it is now."""
    status = transfer.status
    if status == _STATUS.REQUESTED:
        return [*_list_approval(actor, transfer), *_list_cancel(actor, transfer)]
    if status == _STATUS.APPROVED:
        return _list_cancel(actor, transfer)
    if status == _STATUS.NEEDS_OPERATOR:
        may_decide = may_act_on_transfer(actor, Grant.Action.OPERATE, transfer)
        return list(DECISIONS.values()) if may_decide else []
    if status in UNDOABLE:
        return _list_undo(actor, transfer)
    return []


def needs_other_person(transfer: Transfer) -> bool:
    """Whether the requester's own word is not enough: by the policy at the request, or by today's."""
    policies = (transfer.approval_policy, transfer.provider.approval_policy)
    return Provider.ApprovalPolicy.OTHER_PERSON in policies


def due_transfers() -> list[int]:
    """Transfers a worker should take up now: approved or begun, their time come, their provider free."""
    now = fetch_now()
    # One that waits for longer than any does was put off by a clock that was wrong.
    is_time = (
        Q(next_attempt_at__isnull=True)
        | Q(next_attempt_at__lte=now)
        | Q(next_attempt_at__gt=now + _LONGEST_WAIT)
    )
    due = Transfer.objects.filter(is_time, build_free_query(now, "provider__"), status__in=_MOVING)
    # What only waits and is over its time is expired, not begun.
    waiting = due.exclude(status=_STATUS.APPROVED, expires_at__lte=now)
    return list(waiting.order_by("pk").values_list("pk", flat=True)[:_MOST_DUE])


def progress(transfer: Transfer) -> Progress:
    """How far the transfer is, counted from its items."""
    counts = Counter(transfer.items.order_by().values_list("status", flat=True))
    total = counts.total()
    pending = counts[_ITEM.PENDING] + counts[_ITEM.SENDING]
    return Progress(
        total=total,
        verified=counts[_ITEM.VERIFIED],
        failed=counts[_ITEM.FAILED] + counts[_ITEM.STALE],
        needs_operator=counts[_ITEM.NEEDS_OPERATOR],
        pending=pending,
        percent=100 * (total - pending) // total if total else 100,
        is_moving=transfer.status in _MOVING,
        summary=_summarize(transfer, counts[_ITEM.VERIFIED], total),
    )


def _summarize(transfer: Transfer, verified: int, total: int) -> str:
    if transfer.status == _STATUS.REQUESTED:
        needs_other = needs_other_person(transfer)
        return f"Waits for {'another person' if needs_other else 'somebody'} to approve it. Nothing was sent."
    if transfer.status == _STATUS.APPROVED:
        return transfer.status_reason or "A worker sends it soon."
    if transfer.status in (_STATUS.SENDING, _STATUS.SENT):
        return f"{verified} of {total} are verified. {transfer.status_reason}".strip()
    return transfer.status_reason or transfer.get_status_display()


def _list_approval(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    if not may_act_on_transfer(actor, Grant.Action.APPROVE, transfer):
        return []
    reject = AllowedAction("reject", "Reject", "The transfer ends. Nothing was sent.")
    is_same = needs_other_person(transfer) and find_same_people(transfer, actor)
    if is_same or transfer.expires_at <= fetch_now():
        return [reject]
    approve = AllowedAction(
        "approve",
        "Approve",
        f"The claims of {_count(transfer.item_count)} are written at {transfer.provider.name} as "
        "shown, if everything is still as reviewed. Otherwise nothing is sent.",
        needs_reason=False,
    )
    return [approve, reject]


def _list_cancel(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    if not may_cancel(actor, transfer):
        return []
    return [AllowedAction("cancel", "Cancel", "The transfer ends. Nothing was sent.", needs_reason=False)]


def _list_undo(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    left = find_left_to_undo(transfer).count()
    if not left or not may_act_on_transfer(actor, Grant.Action.REQUEST, transfer):
        return []
    consequence = (
        f"This requests a new transfer that restores the claims of {_count(left)} byte for byte, "
        "where the provider still shows what this transfer wrote. It needs the same approval."
    )
    return [AllowedAction("undo", "Undo", consequence)]


def _count(number: int) -> str:
    return "1 record set" if number == 1 else f"{number} record sets"
