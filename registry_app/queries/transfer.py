"""What is true of transfers, who may act on them, and what their pages show."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Length, Substr

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import PROVIDER_SECRETS, Grant, Transfer, TransferItem, TransferStep
from registry_app.queries.actor import find_same_people
from registry_app.queries.approval_policy import needs_both_sides, needs_other_person
from registry_app.queries.consent import describe_waiting, list_choices
from registry_app.queries.provider import build_due_query, build_free_query
from registry_app.queries.sides import may_act_on_both, may_take_part
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
# A change set may be megabytes, and a transfer may have hundreds: a page shows how each begins.
SHOWN_CHARACTERS = 4_000
_MOST_ADDED = 200
_SHOWN_FIRST = (TransferStep.Status.NEEDS_OPERATOR, TransferStep.Status.UNKNOWN)


@dataclass(frozen=True)
class AllowedAction:
    """Something this actor may do now. `consequence` says in plain words what follows from it.

    `action` is approve, reject, cancel, undo, or a decision: look_again, send_again, keep_as_is. `side` is
    for whom an approval is, where each side consents by itself: giver or taker.
    """

    action: str
    label: str
    consequence: str
    needs_reason: bool = True
    side: str = ""


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
        may_decide = may_act_on_both(actor, Grant.Action.OPERATE, transfer)
        return list(DECISIONS.values()) if may_decide else []
    if status in UNDOABLE:
        return _list_undo(actor, transfer)
    return []


def due_transfers() -> list[int]:
    """Transfers that a worker should run now: approved or started, due, and with a free provider."""
    now = fetch_now()
    is_due = build_due_query("next_attempt_at", now, _LONGEST_WAIT)
    due = Transfer.objects.filter(is_due, build_free_query(now, "provider__"), status__in=_MOVING)
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
        if waiting := describe_waiting(transfer):
            return f"{waiting} Nothing was sent."
        needs_other = needs_other_person(transfer)
        return f"Waits for {'another person' if needs_other else 'somebody'} to approve it. Nothing was sent."
    if transfer.status == _STATUS.APPROVED:
        return transfer.status_reason or "A worker sends it soon."
    if transfer.status in (_STATUS.SENDING, _STATUS.SENT):
        return f"{verified} of {total} are verified. {transfer.status_reason}".strip()
    return transfer.status_reason or transfer.get_status_display()


def _list_approval(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    if not may_take_part(actor, Grant.Action.APPROVE, transfer):
        return []
    reject = AllowedAction("reject", "Reject", "The transfer ends. Nothing was sent.")
    if transfer.expires_at <= fetch_now():
        return [reject]
    if needs_both_sides(transfer):
        return [*_list_consents(actor, transfer), reject]
    if needs_other_person(transfer) and find_same_people(transfer, actor):
        return [reject]
    approve = AllowedAction("approve", "Approve", _describe_writing(transfer), needs_reason=False)
    return [approve, reject]


def _list_consents(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    """One for each side for which `actor` may consent."""
    then = f"With both: {_describe_writing(transfer)}"
    return [
        AllowedAction("approve", label, f"{condition} {then}", needs_reason=False, side=side)
        for side, label, condition in list_choices(actor, transfer)
    ]


def _describe_writing(transfer: Transfer) -> str:
    return (
        f"The claims of {_count(transfer.item_count)} are written at {transfer.provider.name} as "
        "shown, if everything is still as reviewed. Otherwise nothing is sent."
    )


def _list_cancel(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    if not may_cancel(actor, transfer):
        return []
    return [AllowedAction("cancel", "Cancel", "The transfer ends. Nothing was sent.", needs_reason=False)]


def _list_undo(actor: Actor, transfer: Transfer) -> list[AllowedAction]:
    left = find_left_to_undo(transfer).count()
    policy = transfer.provider.approval_policy  # the undo is a new transfer
    if not left or not may_take_part(actor, Grant.Action.REQUEST, transfer, policy):
        return []
    consequence = (
        f"This requests a new transfer that restores the claims of {_count(left)} byte for byte, "
        "where the provider still shows what this transfer wrote. It needs the same approval."
    )
    return [AllowedAction("undo", "Undo", consequence)]


def _count(number: int) -> str:
    return "1 record set" if number == 1 else f"{number} record sets"


def may_cancel(actor: Actor, transfer: Transfer) -> bool:
    """Whether `actor` may cancel: the requester may (a token only with the scope plan, and not narrowed), and
    whoever could request it."""
    is_requester = actor.user_id is not None and actor.user_id == transfer.requested_by_id
    is_narrowed = actor.owner_ids is not None or actor.provider_ids is not None
    if is_requester and actor.has_scope("plan") and not is_narrowed:
        return True
    return may_take_part(actor, Grant.Action.REQUEST, transfer)


def build_number_query(text: str) -> Q:
    """The condition that finds a transfer by what somebody typed: `12`, `#12` or the id of the API."""
    number = text.strip().removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) <= 18:
        return Q(pk=int(number))
    try:
        return Q(public_id=UUID(number))
    except ValueError:
        return Q(pk=None)


def transfers_for_display() -> QuerySet[Transfer]:
    """Transfers with what a line about them needs, and without anything secret loaded."""
    return Transfer.objects.select_related("provider", "source_owner", "target_owner", "undo_of").defer(
        *PROVIDER_SECRETS
    )


def find_already_requested(actor: Actor, fingerprints: Mapping[int, str]) -> list[Transfer]:
    """Open transfers of exactly these plans by the same person: what a second click would request again."""
    if actor.user_id is None or not fingerprints:
        return []
    return list(
        transfers_for_display().filter(
            requested_by=actor.user_id,
            provider__in=fingerprints.keys(),
            plan_fingerprint__in=fingerprints.values(),
            status__in=Transfer.OPEN_STATUSES,
        )
    )


def find_added(transfers: Sequence[Transfer]) -> tuple[int, list[dict[str, Any]]]:
    """How many record sets were added to those that were selected, and the first of them."""
    added = TransferItem.objects.filter(transfer__in=[row.pk for row in transfers], is_added=True)
    columns = ("transfer__public_id", "name", "record_type", "set_identifier")
    return added.count(), list(added.order_by("transfer", "ordinal").values(*columns)[:_MOST_ADDED])


def steps_for_display(transfer: Transfer) -> QuerySet[TransferStep]:
    """The steps of a transfer, those that need an operator or have an unknown outcome first, without their
    long texts: how these begin (`sent_start`, `read_back_start`) and how long they are (`sent_length`,
    `read_back_length`)."""
    first = Case(When(status__in=_SHOWN_FIRST, then=Value(0)), default=Value(1), output_field=IntegerField())
    read_back = Cast("read_back", TextField())
    rows = transfer.steps.defer("change_set", "read_back").prefetch_related("registry_profile")
    return rows.annotate(
        sent_start=Substr("change_set", 1, SHOWN_CHARACTERS),
        sent_length=Length("change_set"),
        read_back_start=Substr(read_back, 1, SHOWN_CHARACTERS),
        read_back_length=Length(read_back),
    ).order_by(first, "id")
