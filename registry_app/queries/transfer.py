"""What is true of transfers, who may act on them, and what their pages show."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Length, Substr

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import PROVIDER_SECRETS, Grant, Owner, Provider, Transfer, TransferItem, TransferStep
from registry_app.queries.access import may_act
from registry_app.queries.actor import find_same_people
from registry_app.queries.provider import build_due_query, build_free_query
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
    """Whether another person must approve: by the policy at the request, or by today's."""
    policies = (transfer.approval_policy, transfer.provider.approval_policy)
    return Provider.ApprovalPolicy.OTHER_PERSON in policies


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


def find_denied_side(
    actor: Actor,
    action: Grant.Action,
    provider: Provider,
    sides: Iterable[tuple[str, str]],
    target_owner: Owner | None,
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


def may_act_on_transfer(actor: Actor, action: Grant.Action, transfer: Transfer) -> bool:
    """Whether `actor` has `action` over both sides of every item of a stored transfer."""
    sides = transfer.items.values_list("owner_before", "name").order_by()
    denied = find_denied_side(actor, action, transfer.provider, sides, transfer.target_owner)
    return denied is None


def may_cancel(actor: Actor, transfer: Transfer) -> bool:
    """Whether `actor` may cancel: the requester may (a token only with the scope plan, and not narrowed), and
    whoever could request it."""
    is_requester = actor.user_id is not None and actor.user_id == transfer.requested_by_id
    is_narrowed = actor.owner_ids is not None or actor.provider_ids is not None
    if is_requester and actor.has_scope("plan") and not is_narrowed:
        return True
    return may_act_on_transfer(actor, Grant.Action.REQUEST, transfer)


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
