"""Storing a change set before it is sent, sending it once, and storing what came of it (I5, I6)."""

import hashlib
from collections.abc import Sequence

from django.db import transaction

from providers.http.errors import NothingSent, OutcomeUnknown
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost
from registry_app.loop.claim_rows import decode_rows
from registry_app.loop.hold import Hold
from registry_app.loop.step_changes import StepItem, format_items
from registry_app.models import LoopRun, LoopStep
from registry_app.outside_copy import DatabaseRestored, announce_send, count_send
from registry_app.reconcile.lease import Lease, raise_if_lost

_STATUS = LoopStep.Status
# Sent, perhaps sent, or answered: only looking tells.
UNSETTLED = (_STATUS.SENDING, _STATUS.ANSWERED, _STATUS.UNKNOWN)


def store_step(
    hold: Hold, run: LoopRun, body: bytes, items: Sequence[StepItem], *, store: str = ""
) -> LoopStep:
    """Write down what is about to be sent, to the provider or to a registry store (its profile's primary key
    as text); committed when this returns. Raises LeaseLost."""
    with transaction.atomic():
        raise_if_lost(hold.lease)
        step = LoopStep.objects.create(
            run=run,
            ordinal=run.steps.count() + 1,
            registry_profile_id=int(store) if store else None,
            change_set=body.decode(),
            body_digest=hashlib.sha256(body).hexdigest(),
            items=format_items(items),
            epoch=hold.lease.epoch,
            stored_at=fetch_now(),
        )
    crash_point("loop.stored")
    return step


def send_step(hold: Hold, step: LoopStep) -> None:
    """Send the stored bytes, once, outside any transaction. Raises NothingSent, LeaseLost.

    Before the first byte the step is marked: one found without the mark was never sent, and one found with
    it is never sent again, whatever happened to its sender.
    """
    hold.renew()
    with transaction.atomic():
        raise_if_lost(hold.lease)
        moved = LoopStep.objects.filter(pk=step.pk, status=_STATUS.STORED).update(
            status=_STATUS.SENDING, epoch=hold.lease.epoch
        )
        if not moved:
            raise LeaseLost(
                f"Step {step.pk} is in other hands.", now="This run sent nothing.", todo="Nothing."
            )
        count_send()
    crash_point("loop.marked")
    try:
        announce_send()
    except DatabaseRestored as error:
        _store_answer(step, _STATUS.NOT_SENT, str(error))
        raise
    if fetch_now() >= hold.lease.until:
        raise LeaseLost("The lease ended before the step was sent.", todo="Nothing: the next run looks.")
    try:
        _send(hold, step)
    except NothingSent as error:
        _store_answer(step, _STATUS.NOT_SENT, str(error))
        raise
    except OutcomeUnknown as error:
        crash_point("loop.sent")
        _store_answer(step, _STATUS.UNKNOWN, str(error))
    else:
        crash_point("loop.sent")
        _store_answer(step, _STATUS.ANSWERED, "Success was answered.")
    crash_point("loop.answered")


def settle_step(hold: Hold, step: LoopStep, items: Sequence[StepItem]) -> None:
    """Store what the provider shows of each record set of a step. Raises LeaseLost."""
    crash_point("loop.looked")
    is_done = all(item.outcome == "verified" for item in items)
    with transaction.atomic():
        raise_if_lost(hold.lease)
        LoopStep.objects.filter(pk=step.pk, status__in=UNSETTLED).update(
            status=_STATUS.VERIFIED if is_done else _STATUS.INCOMPLETE,
            items=format_items(items),
            read_back_at=fetch_now(),
        )
    crash_point("loop.settled")


def call_off(lease: Lease, step: LoopStep) -> None:
    """A step without the mark of its sender never left. Raises LeaseLost."""
    with transaction.atomic():
        raise_if_lost(lease)
        LoopStep.objects.filter(pk=step.pk, status=_STATUS.STORED).update(
            status=_STATUS.NOT_SENT, answer="Its worker stopped before it was sent."
        )
    crash_point("loop.called_off")


def _send(hold: Hold, step: LoopStep) -> None:
    body = step.change_set.encode()
    if step.registry_profile_id is None:
        hold.client.apply_changes(body)
    else:
        hold.stores[str(step.registry_profile_id)].store.write(decode_rows(body))


def _store_answer(step: LoopStep, status: str, answer: str) -> None:
    # Not fenced: what came back is true whoever has the lease now, and only the mark's owner gets here.
    LoopStep.objects.filter(pk=step.pk, status=_STATUS.SENDING).update(
        status=status, answer=answer, answered_at=fetch_now()
    )
    step.refresh_from_db()
