"""Storing a step before it is sent, sending it once, and storing what came of it (I5, I6)."""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import QuerySet

from providers.http.errors import NothingSent, OutcomeUnknown
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost
from registry_app.models import UNSETTLED, Step, StepStatus
from registry_app.outside_copy import DatabaseRestored, announce_send, count_send
from registry_app.writes.session import LeasedProvider, WriteSession

AnyStep = TypeVar("AnyStep", bound=Step)


def store_step(leased: LeasedProvider, body: bytes, build: Callable[[], AnyStep]) -> AnyStep:
    """Store what is about to be sent; committed when this returns. Raises LeaseLost.

    `build` makes the unsaved step. It runs inside the transaction: it may store what belongs to the step,
    and what it raises leaves nothing behind.
    """
    with leased.fenced():
        step = build()
        step.change_set = body.decode()
        step.body_digest = hashlib.sha256(body).hexdigest()
        step.epoch = leased.lease.epoch
        step.stored_at = fetch_now()
        step.save(force_insert=True)
    crash_point(f"{step.crash_prefix}stored")
    return step


def send_step(session: WriteSession, step: Step) -> None:
    """Send the stored bytes, once, outside any transaction. Raises NothingSent, LeaseLost.

    Before the first byte the step is marked: a step found without the mark was never sent, and one found
    with it is never sent again, whatever happened to its sender.
    """
    session.renew()
    with session.fenced():
        _mark(session, step)
        count_send()
    crash_point(f"{step.crash_prefix}marked")
    try:
        announce_send()
    except DatabaseRestored as error:
        _store_answer(step, StepStatus.NOT_SENT, str(error))
        raise
    if fetch_now() >= session.lease.until:
        raise LeaseLost(
            "The lease ended before the step was sent.", todo="Nothing: the next run reads what is there."
        )
    try:
        session.send(step.store, step.change_set.encode())
    except NothingSent as error:
        _store_answer(step, StepStatus.NOT_SENT, str(error))
        raise
    except OutcomeUnknown as error:
        crash_point(f"{step.crash_prefix}sent")
        _store_answer(step, StepStatus.UNKNOWN, str(error))
    else:
        crash_point(f"{step.crash_prefix}sent")
        _store_answer(step, StepStatus.ANSWERED, "Provider reported success.")
    crash_point(f"{step.crash_prefix}answered")


def settle_step(
    leased: LeasedProvider,
    step: Step,
    status: str,
    *,
    store_outcome: Callable[[], None] = lambda: None,
    **fields: Any,
) -> None:
    """Store what was read back of a step; `store_outcome` stores what that means for its user, in the
    same transaction. Raises LeaseLost."""
    crash_point(f"{step.crash_prefix}read_back")
    with leased.fenced():
        if not _rows(step, *UNSETTLED).update(status=status, read_back_at=fetch_now(), **fields):
            raise _settled_elsewhere(step)
        store_outcome()
    crash_point(f"{step.crash_prefix}settled")


def resume_steps(
    leased: LeasedProvider,
    steps: QuerySet[AnyStep],
    settle: Callable[[AnyStep], None],
    *,
    note_called_off: Callable[[AnyStep], None] = lambda _: None,
) -> None:
    """Finish what a run that ended on the way left behind. Nothing is ever sent from here.

    A step without the mark of its sender was never sent: it is called off, and `note_called_off` stores what
    that means, in the same transaction. `settle` reads back every other step whose outcome is not known.
    Raises LeaseLost, and what `settle` raises.
    """
    left = list(steps.filter(status__in=(StepStatus.STORED, *UNSETTLED)).order_by("pk"))
    for step in (each for each in left if each.status == StepStatus.STORED):
        with leased.fenced():
            answer = "Its worker stopped before it was sent."
            if _rows(step, StepStatus.STORED).update(status=StepStatus.NOT_SENT, answer=answer):
                note_called_off(step)
        crash_point(f"{step.crash_prefix}called_off")
    for step in (each for each in left if each.status != StepStatus.STORED):
        settle(step)


def _mark(session: WriteSession, step: Step) -> None:
    epoch = session.lease.epoch
    if not _rows(step, StepStatus.STORED).update(status=StepStatus.SENDING, epoch=epoch):
        raise _settled_elsewhere(step)
    step.status, step.epoch = StepStatus.SENDING, epoch


def _store_answer(step: Step, status: StepStatus, answer: str) -> None:
    # Not fenced: the response is a fact whoever has the lease now, and only the sender of the step gets here.
    now = fetch_now()
    rows = _rows(step, StepStatus.SENDING).filter(epoch=step.epoch)
    rows.update(status=status, answer=answer, answered_at=now)
    step.status, step.answer, step.answered_at = status, answer, now


def _rows(step: AnyStep, *statuses: StepStatus) -> QuerySet[AnyStep]:
    """The row of the step, if it has one of these statuses."""
    return type(step)._default_manager.filter(pk=step.pk, status__in=statuses)


def _settled_elsewhere(step: Step) -> LeaseLost:
    return LeaseLost(
        f"Another worker moved step {step.pk} on.", now="This run sent nothing more.", todo="Nothing."
    )
