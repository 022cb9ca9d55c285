"""Apply a plan: batch after batch, each stored, sent once and read back before the next is built."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from registry_app.loop.batches import list_keys, take_batch
from registry_app.loop.hold import Hold
from registry_app.loop.plan_loop import LoopPlan, plan_again
from registry_app.loop.refusals import find_freeze_refusals
from registry_app.loop.send_batch import send_batch
from registry_app.loop.step_changes import StepItem
from registry_app.models import LoopRun
from registry_app.queries.loop import names_held_by_transfers

# A run gives way after this time, and the next one goes on: no task lives for ever.
_LONGEST_RUN = timedelta(minutes=10)
# A provider that refuses everything is not asked a thousand times.
_MOST_FAILED_IN_A_ROW = 3
_MOST_FAILED_IN_A_ROW_ALONE = 10


@dataclass
class _Progress:
    failed_in_a_row: int = 0

    def note(self, items: Sequence[StepItem]) -> None:
        is_moving = any(item.outcome == "verified" for item in items)
        self.failed_in_a_row = 0 if is_moving else self.failed_in_a_row + 1


def send_plan(hold: Hold, run: LoopRun, plan: LoopPlan) -> str:
    """Everything the plan changes, and nothing else, as far as it goes. The reason to stop early, or "".

    After each batch the provider is read, and the rest is planned again from that. Raises NothingSent,
    ProviderError, WireError, LeaseLost: what was begun is then found and finished by looking.
    """
    open_keys = set(list_keys(plan.changes))
    size = hold.provider.effective_batch_size
    progress = _Progress()
    while True:
        chosen = take_batch(plan.changes, open_keys, size)
        if chosen.is_empty():
            return ""
        stop = _find_reason_to_stop(hold, progress, size)
        if stop:
            return stop
        open_keys.difference_update(list_keys(chosen))
        found = send_batch(hold, run, plan, chosen)
        if found is None:
            continue
        snapshot, items = found
        progress.note(items)
        plan = plan_again(plan, snapshot, names_held_by_transfers(hold.provider.pk))


def _find_reason_to_stop(hold: Hold, progress: _Progress, size: int) -> str:
    for refusal in find_freeze_refusals(hold.provider):
        return str(refusal)
    if time.monotonic() - hold.started > _LONGEST_RUN.total_seconds():
        return "It gave way to others after ten minutes. The next run goes on."
    most = _MOST_FAILED_IN_A_ROW_ALONE if size == 1 else _MOST_FAILED_IN_A_ROW
    if progress.failed_in_a_row >= most:
        return f"{progress.failed_in_a_row} requests in a row changed nothing, so no more were sent."
    return ""
