"""What people decide about a hand-over: approve, reject, cancel, pause, resume, begin the next wave."""

from contextlib import suppress
from uuid import UUID

from django.db import transaction

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.hand_over.hand_over_row import advance_row, find_hand_over
from registry_app.hand_over.preconditions import raise_if_never_finished, raise_if_not_guarded
from registry_app.hand_over.request_hand_over import compute_stored_fingerprint
from registry_app.models import Grant, HandOver, HandOverItem, Transfer
from registry_app.queries.actor import find_same_people
from registry_app.queries.approval_policy import find_policy, needs_both_sides, needs_other_person
from registry_app.queries.consent import (
    ChosenSide,
    build_consent,
    choose_side,
    describe_consent,
    describe_needed_owners,
    raise_if_side_without_sides,
)
from registry_app.queries.freeze import find_send_stops
from registry_app.queries.hand_over import may_cancel_hand_over, may_steer_hand_over
from registry_app.queries.sides import may_act_on_both, may_take_part
from registry_app.transfer.transfer_row import advance as advance_transfer

_STATUS = HandOver.Status
# A transfer of which nothing was sent.
_UNSENT = (Transfer.Status.REQUESTED, Transfer.Status.APPROVED)


def approve_hand_over(
    actor: Actor, public_id: UUID | str | int, *, fingerprint: str, side: str | None = None
) -> HandOver:
    """Let it run: each name moves when the new owner wants it, and no other approval is asked for.

    If both sides must agree, this is the consent for one of them (`side`; without it, for the only one for
    which the actor may consent), and the second consent, of another person, lets it run. Raises NotFound,
    NotAllowed, InvalidRequest (the side must be said), RefusedBySafety, StateMoved (another plan, too late,
    somebody was first).
    """
    row = find_hand_over(public_id)
    chosen = _choose_side(actor, row, side)
    _raise_if_not_as_reviewed(row, fingerprint)
    for stop in find_send_stops(row.provider):
        raise RefusedBySafety(stop.happened, todo=stop.todo, code=stop.code)
    for owner in (row.from_owner, row.to_owner):
        raise_if_not_guarded(row.provider, owner)
    raise_if_never_finished(row.provider, row.to_owner)
    if chosen is not None and not chosen.is_last:
        return _store_consent(actor, row, chosen)
    return advance_row(
        actor,
        row,
        [_STATUS.REQUESTED],
        _STATUS.RUNNING,
        action="hand_over.approved",
        about=describe_consent(row, chosen) if chosen else "",
        expected={"consent_at": row.consent_at},
        # The stricter policy, if the provider requires more by now: the database then checks it, too.
        approval_policy=find_policy(row),
        approved_by_id=actor.user_id,
        approved_by_issuer_id=actor.answerer_id,
        approved_by_name=actor.name[:200],
        approved_at=fetch_now(),
    )


def _raise_if_not_as_reviewed(row: HandOver, fingerprint: str) -> None:
    """Raise StateMoved unless the stored rows, which will move, are what was reviewed, in time."""
    if fingerprint != row.fingerprint or fingerprint != compute_stored_fingerprint(row):
        raise StateMoved(
            "The hand-over is not the one that was reviewed.",
            todo="Open it again and approve what it shows now, or request a new one.",
            code="plan_moved",
        )
    if row.ends_at <= fetch_now():
        raise StateMoved("Its end is over.", todo="Request it again with a later end.")


def _choose_side(actor: Actor, row: HandOver, asked: str | None) -> ChosenSide | None:
    """The side `actor` consents for; None where one approval is for both. Raises as `approve_hand_over`."""
    if needs_both_sides(row):
        return choose_side(actor, row, asked)
    raise_if_side_without_sides(row, asked)
    _raise_if_may_not_approve(actor, row)
    return None


def _store_consent(actor: Actor, row: HandOver, chosen: ChosenSide) -> HandOver:
    """The first of two consents, or one in place of a first one that ended: it stays requested."""
    return advance_row(
        actor,
        row,
        [_STATUS.REQUESTED],
        _STATUS.REQUESTED,
        action="hand_over.consented",
        about=describe_consent(row, chosen),
        expected={"consent_at": row.consent_at},
        approval_policy=find_policy(row),
        **build_consent(actor, chosen.side),
    )


def _raise_if_may_not_approve(actor: Actor, row: HandOver) -> None:
    same = find_same_people(row, actor) if needs_other_person(row) else ""
    if same:
        raise NotAllowed(same, todo="Ask another person who may approve.", code="other_person_needed")
    _raise_if_not(actor, row, is_allowed=may_act_on_both(actor, Grant.Action.APPROVE, row))


def reject_hand_over(actor: Actor, public_id: UUID | str | int, *, reason: str) -> HandOver:
    """End one that waits for approval. Raises NotFound, NotAllowed, InvalidRequest, StateMoved."""
    row = find_hand_over(public_id)
    _raise_if_not(actor, row, is_allowed=may_take_part(actor, Grant.Action.APPROVE, row))
    if not reason.strip():
        raise InvalidRequest("The rejection has no reason.", fields={"reason": ["Say why."]})
    return advance_row(actor, row, [_STATUS.REQUESTED], _STATUS.REJECTED, reason=reason)


def cancel_hand_over(actor: Actor, public_id: UUID | str | int, *, reason: str = "") -> HandOver:
    """End it, with those of its transfers of which nothing was sent. What moved stays moved; request a
    hand-over the other way round to bring it back.

    The requester may, and whoever may request or operate both owners. Raises NotFound, NotAllowed,
    StateMoved.
    """
    row = find_hand_over(public_id)
    _raise_if_not(actor, row, is_allowed=may_cancel_hand_over(actor, row))
    with transaction.atomic():
        cancelled = advance_row(actor, row, HandOver.UNFINISHED_STATUSES, _STATUS.CANCELLED, reason=reason)
        _cancel_transfers(actor, cancelled)
    return cancelled


def _cancel_transfers(actor: Actor, row: HandOver) -> None:
    waiting = Transfer.objects.filter(
        pk__in=row.items.filter(state=HandOverItem.State.MOVING).values("transfer"), status__in=_UNSENT
    )
    reason = f"Hand-over #{row.pk} was cancelled by {actor.name}."
    for transfer in waiting:
        with suppress(StateMoved):
            advance_transfer(
                transfer,
                before=_UNSENT,
                after=Transfer.Status.CANCELLED,
                actor=actor,
                reason=reason,
                status_reason=reason,
            )


def pause_hand_over(actor: Actor, public_id: UUID | str | int, *, reason: str = "") -> HandOver:
    """Move nothing more until it is resumed; what is being sent is finished. Deletes of the old owner stay
    held. Raises NotFound, NotAllowed, StateMoved."""
    row = _find_to_steer(actor, public_id)
    return advance_row(actor, row, [_STATUS.RUNNING], _STATUS.PAUSED, reason=reason)


def resume_hand_over(actor: Actor, public_id: UUID | str | int, *, reason: str = "") -> HandOver:
    """Go on, also with the names that failed. Raises NotFound, NotAllowed, StateMoved."""
    row = _find_to_steer(actor, public_id)
    with transaction.atomic():
        resumed = advance_row(
            actor, row, [_STATUS.PAUSED], _STATUS.RUNNING, action="hand_over.resumed", reason=reason
        )
        failed = row.items.filter(state=HandOverItem.State.FAILED)
        failed.update(state=HandOverItem.State.WAITING, reason="", transfer=None, changed_at=fetch_now())
    return resumed


def start_next_wave(actor: Actor, public_id: UUID | str | int, *, reason: str = "") -> HandOver:
    """Let the names of the next wave move too. Raises NotFound, NotAllowed, StateMoved (there is none)."""
    row = _find_to_steer(actor, public_id)
    if row.wave >= row.wave_count:
        raise StateMoved(f"Wave {row.wave} is the last one.", todo="There is nothing to do.")
    return advance_row(
        actor,
        row,
        [_STATUS.RUNNING],
        _STATUS.RUNNING,
        action="hand_over.wave_started",
        reason=reason,
        wave=row.wave + 1,
    )


def _find_to_steer(actor: Actor, public_id: UUID | str | int) -> HandOver:
    row = find_hand_over(public_id)
    _raise_if_not(actor, row, is_allowed=may_steer_hand_over(actor, row))
    return row


def _raise_if_not(actor: Actor, row: HandOver, *, is_allowed: bool) -> None:
    if not is_allowed:
        needed = describe_needed_owners(row)
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not do this for all names of the hand-over and {needed}.",
            todo=f"Ask somebody with a grant for {needed}.",
        )


def end_hand_over(actor: Actor, row: HandOver, status: str, reason: str) -> None:
    """It is over. Nothing happens if somebody ended it first."""
    with suppress(StateMoved):
        advance_row(actor, row, [row.status], status, reason=reason)
