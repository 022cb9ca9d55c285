"""Hand-overs: which are due, which names they cover, and what is true of each."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import PROVIDER_SECRETS, Grant, HandOver, HandOverItem
from registry_app.queries.actor import find_same_people
from registry_app.queries.approval_policy import needs_both_sides, needs_other_person
from registry_app.queries.consent import list_choices
from registry_app.queries.provider import build_free_query
from registry_app.queries.sides import may_act_on_both, may_take_part

_ROWS = 500
_OVER = (HandOverItem.State.SERVING, HandOverItem.State.GONE)


def due_hand_overs() -> list[int]:
    """Hand-overs that run, end, or have a name that is being moved, and whose provider is free."""
    now = fetch_now()
    is_due = Q(next_run_at__isnull=True) | Q(next_run_at__lte=now)
    rows = HandOver.objects.filter(build_free_query(now, "provider__"), is_due)
    ends = Q(status__in=_WAITING, ends_at__lte=now)
    # What was being sent when it ended or paused is followed to its end.
    moving = HandOverItem.objects.filter(hand_over=OuterRef("pk"), state=HandOverItem.State.MOVING)
    open_rows = rows.filter(Q(status=HandOver.Status.RUNNING) | ends | Exists(moving))
    return list(open_rows.order_by("pk").values_list("pk", flat=True))


_WAITING = (HandOver.Status.REQUESTED, HandOver.Status.PAUSED)


def hand_overs_for_display() -> QuerySet[HandOver]:
    """Hand-overs with what a line about them needs, and without anything secret loaded."""
    return HandOver.objects.select_related("provider", "from_owner", "to_owner").defer(*PROVIDER_SECRETS)


def count_items(rows: Iterable[HandOver]) -> dict[int, dict[str, int]]:
    """How many names of each hand-over, by its primary key, are in each state; every state is in it."""
    keys = [row.pk for row in rows]
    counts = {key: dict.fromkeys(HandOverItem.State.values, 0) for key in keys}
    grouped = HandOverItem.objects.filter(hand_over__in=keys).order_by().values("hand_over", "state")
    for hand_over, state, number in grouped.annotate(number=Count("pk")).values_list(
        "hand_over", "state", "number"
    ):
        counts[hand_over][state] = number
    return counts


def find_already_requested(actor: Actor, fingerprint: str) -> HandOver | None:
    """The unfinished hand-over of exactly this plan by the same person: what a second click would request
    again."""
    if actor.user_id is None or not fingerprint:
        return None
    rows = HandOver.objects.filter(requested_by=actor.user_id, fingerprint=fingerprint)
    return rows.filter(status__in=HandOver.UNFINISHED_STATUSES).first()


def names_in_open_hand_overs(provider_id: int, names: Collection[str]) -> set[str]:
    """Those of the names that an open hand-over, or one that waits for approval, has not moved yet."""
    found = _find(provider_id, names, HandOver.UNFINISHED_STATUSES)
    return set(found.values_list("name", flat=True)) & set(names)


def find_next_owners(provider_id: int, owner_id: int, names: Collection[str]) -> dict[str, str]:
    """To whom names of an owner (its primary key) are being handed over and have not moved yet: the owner id
    of the new one."""
    rows = _find(provider_id, names, HandOver.OPEN_STATUSES).filter(hand_over__from_owner=owner_id)
    return dict(rows.values_list("name", "hand_over__to_owner__owner_id"))


def _find(provider_id: int, names: Collection[str], statuses: Collection[str]) -> QuerySet[HandOverItem]:
    wanted = sorted(names)
    rows = HandOverItem.objects.filter(
        hand_over__provider=provider_id, hand_over__status__in=statuses
    ).exclude(state__in=(*_OVER, HandOverItem.State.MOVED))
    return rows if len(wanted) > _ROWS else rows.filter(name__in=wanted)


@dataclass(frozen=True)
class HandOverAction:
    """Something this actor may do now: approve, reject, cancel, pause, resume or next_wave. `consequence`
    says in plain words what follows from it. `side` is for whom an approval is, where each side consents by
    itself: giver or taker."""

    action: str
    label: str
    consequence: str
    needs_reason: bool = False
    side: str = ""


def may_steer_hand_over(actor: Actor, row: HandOver) -> bool:
    """Whether `actor` may pause it, resume it and begin its next wave: whoever may request or operate."""
    return may_take_part(actor, Grant.Action.REQUEST, row) or may_act_on_both(
        actor, Grant.Action.OPERATE, row
    )


def may_cancel_hand_over(actor: Actor, row: HandOver) -> bool:
    """Whether `actor` may cancel: the requester may (a token only with the scope plan, and not narrowed), and
    whoever may steer it."""
    is_requester = actor.user_id is not None and actor.user_id == row.requested_by_id
    is_narrowed = actor.owner_ids is not None or actor.provider_ids is not None
    if is_requester and actor.has_scope("plan") and not is_narrowed:
        return True
    return may_steer_hand_over(actor, row)


def list_allowed_actions(actor: Actor, row: HandOver) -> list[HandOverAction]:
    """What `actor` may do with the hand-over as it is now."""
    if row.status == HandOver.Status.REQUESTED:
        return [*_list_approval(actor, row), *_list_cancel(actor, row)]
    if row.status in HandOver.OPEN_STATUSES:
        steering = _list_steering(row) if may_steer_hand_over(actor, row) else []
        return [*steering, *_list_cancel(actor, row)]
    return []


def _list_approval(actor: Actor, row: HandOver) -> list[HandOverAction]:
    if not may_take_part(actor, Grant.Action.APPROVE, row):
        return []
    reject = HandOverAction("reject", "Reject", "The hand-over ends. Nothing moved.", needs_reason=True)
    if row.ends_at <= fetch_now():
        return [reject]
    if needs_both_sides(row):
        return [*_list_consents(actor, row), reject]
    if needs_other_person(row) and find_same_people(row, actor):
        return [reject]
    return [HandOverAction("approve", "Approve", _describe_moving(row)), reject]


def _list_consents(actor: Actor, row: HandOver) -> list[HandOverAction]:
    """One for each side for which `actor` may consent."""
    then = f"With both: {_describe_moving(row)}"
    return [
        HandOverAction("approve", label, f"{condition} {then}", side=side)
        for side, label, condition in list_choices(actor, row)
    ]


def _describe_moving(row: HandOver) -> str:
    return (
        f"Each name moves to {row.to_owner.owner_id} as soon as its instance wants it, without another "
        f"approval. Deletes of {row.from_owner.owner_id} are held until then."
    )


def _list_steering(row: HandOver) -> list[HandOverAction]:
    if row.status == HandOver.Status.PAUSED:
        text = "Names move again when they are wanted, also those that failed."
        return [HandOverAction("resume", "Resume", text)]
    pause = HandOverAction(
        "pause", "Pause", "No other name moves until it is resumed. What is being sent is finished."
    )
    if row.wave >= row.wave_count:
        return [pause]
    text = f"The names of wave {row.wave + 1} of {row.wave_count} may move too."
    return [HandOverAction("next_wave", "Next wave", text), pause]


def _list_cancel(actor: Actor, row: HandOver) -> list[HandOverAction]:
    if not may_cancel_hand_over(actor, row):
        return []
    text = (
        f"The hand-over ends. What moved stays with {row.to_owner.owner_id}; deletes of "
        f"{row.from_owner.owner_id} are no longer held because of it."
    )
    return [HandOverAction("cancel", "Cancel", text)]
