"""Finishing what an earlier run of a transfer began, by reading: nothing is ever sent from here."""

from registry_app.models import TransferItem, TransferStep
from registry_app.transfer.send.item_outcomes import judge_items, mark_late
from registry_app.transfer.send.read_back import read_back
from registry_app.transfer.send.review import plan_of
from registry_app.transfer.send.run_batch import names_of
from registry_app.transfer.send.session import TransferSession, store_outcomes
from registry_app.transfer.send.steps import changes_of_step, load_earlier, settle_transfer_step, target_of
from registry_app.writes.step import resume_steps

_ITEM = TransferItem.Status


def settle_unfinished(session: TransferSession) -> None:
    """Read what became of every step that was sent, or may have been; call off those that were not.

    Raises ProviderError, WireError, LeaseLost.
    """
    resume_steps(
        session,
        session.transfer.steps.all(),
        lambda step: _settle(session, step),
        note_called_off=lambda step: _free_items(session, step),
    )


def _free_items(session: TransferSession, step: TransferStep) -> None:
    """The items of a step that never left wait for a new one.

    Those of which an earlier step was verified stay where they are: under way.
    """
    transfer = session.transfer
    verified = load_earlier(transfer, step.batch).verified
    items = transfer.items.filter(batch=step.batch, status=_ITEM.SENDING)
    waiting = [item for item in items if verified.isdisjoint(plan_of(item, transfer.kind).changed)]
    store_outcomes({item.pk: (_ITEM.PENDING, "") for item in waiting})


def _settle(session: TransferSession, step: TransferStep) -> None:
    transfer = session.transfer
    session.batch = step.batch
    changes = changes_of_step(step)
    items = list(transfer.items.filter(batch=step.batch, status=_ITEM.SENDING).order_by("ordinal"))
    names = names_of(items) | {key.name for key in changes}
    found = read_back(session, changes, names, since=step.answered_at or step.stored_at)
    judged = judge_items(items, transfer.kind, target_of(step), found)
    if transfer.watch_until is not None:  # it had ended as failed before
        judged = {pk: mark_late(outcome) for pk, outcome in judged.items()}
    settle_transfer_step(session, step, found, judged)
