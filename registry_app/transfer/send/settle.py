"""Finishing what an earlier run began, by looking: nothing is ever sent from here."""

from django.db import transaction

from registry_app.crash_point import crash_point
from registry_app.models import TransferItem, TransferStep
from registry_app.reconcile.lease import raise_if_lost
from registry_app.transfer.send.item_outcomes import judge_items, mark_late
from registry_app.transfer.send.look import look
from registry_app.transfer.send.review import plan_of
from registry_app.transfer.send.run import Run, store_outcomes
from registry_app.transfer.send.run_batch import names_of
from registry_app.transfer.send.steps import UNSETTLED, changes_of_step, leg_of, load_earlier, settle_step

_ITEM = TransferItem.Status
_STEP = TransferStep.Status


def settle_unfinished(run: Run) -> None:
    """Look what became of every step that was sent, or may have been; call off those that were not.

    Raises ProviderError, WireError, LeaseLost.
    """
    for step in run.transfer.steps.filter(status=_STEP.STORED).order_by("pk"):
        _call_off(run, step)
    for step in run.transfer.steps.filter(status__in=UNSETTLED).order_by("pk"):
        _settle(run, step)


def _call_off(run: Run, step: TransferStep) -> None:
    """A step without the mark of its sender never left: its items wait for a new one.

    Those of which an earlier step was verified stay where they are: under way.
    """
    with transaction.atomic():
        raise_if_lost(run.lease)
        called_off = run.transfer.steps.filter(pk=step.pk, status=_STEP.STORED).update(
            status=_STEP.NOT_SENT, answer="Its worker stopped before it was sent."
        )
        if called_off:
            verified = load_earlier(run.transfer, step.batch).verified
            items = run.transfer.items.filter(batch=step.batch, status=_ITEM.SENDING)
            waiting = [
                item for item in items if verified.isdisjoint(plan_of(item, run.transfer.kind).changed)
            ]
            store_outcomes({item.pk: (_ITEM.PENDING, "") for item in waiting})
    crash_point("transfer.called_off")


def _settle(run: Run, step: TransferStep) -> None:
    run.batch = step.batch
    changes = changes_of_step(step)
    items = list(run.transfer.items.filter(batch=step.batch, status=_ITEM.SENDING).order_by("ordinal"))
    names = names_of(items) | {key.name for key in changes}
    found = look(run, changes, names, since=step.answered_at or step.stored_at)
    judged = judge_items(items, run.transfer.kind, leg_of(step), found)
    if run.transfer.watch_until is not None:  # it had ended as failed before
        judged = {pk: mark_late(outcome) for pk, outcome in judged.items()}
    settle_step(run, step, found, judged)
