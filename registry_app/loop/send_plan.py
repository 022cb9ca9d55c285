"""Apply a plan: batch after batch, each stored, sent once and read back before the next is built."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from django.conf import settings

from providers.wire.endpoint import EndpointKey
from registry_app.loop.batches import cut_into_batches, list_keys, select_changes
from registry_app.loop.hold import Hold
from registry_app.loop.plan_loop import LoopPlan, keep_names, plan_again
from registry_app.loop.refusals import find_stop_refusals
from registry_app.loop.send_batch import send_batch
from registry_app.loop.step_changes import StepItem
from registry_app.models import LoopRun

# A provider that refuses everything is not asked a thousand times.
_MOST_FAILED_IN_A_ROW = 3
_MOST_FAILED_IN_A_ROW_ALONE = 10


@dataclass
class _Progress:
    is_begun: bool = False
    failed_in_a_row: int = 0

    def note(self, items: Sequence[StepItem]) -> None:
        self.is_begun = True
        is_moving = any(item.outcome == "verified" for item in items)
        self.failed_in_a_row = 0 if is_moving else self.failed_in_a_row + 1


def send_plan(hold: Hold, run: LoopRun, plan: LoopPlan) -> str:
    """Everything the plan changes, and nothing else, as far as it goes. The reason to stop early, or "".

    After each batch the provider is read, and the next one is planned again from that. Raises NothingSent,
    ProviderError, WireError, LeaseLost: what was begun is then found and finished by looking.
    """
    size = hold.provider.effective_batch_size
    batches = cut_into_batches(list_keys(plan.changes), size)
    # What is wanted elsewhere stands already, or is left alone: it need not be looked through each time.
    plan = keep_names(plan, _names_of(list_keys(plan.changes)))
    progress = _Progress()
    for batch, next_batch in zip_longest(batches, batches[1:], fillvalue=()):
        next_names = _names_of(next_batch)
        chosen = select_changes(plan.changes, batch)
        found = None
        if not chosen.is_empty():
            stop = _find_reason_to_stop(hold, progress, size)
            if stop:
                return stop
            found = send_batch(hold, run, plan, chosen, _names_of(batch) | next_names)
        if found is not None:
            progress.note(found[1])
        if next_names:
            snapshot = found[0] if found else hold.read(next_names)
            plan = plan_again(hold, plan, snapshot, next_names)
    return ""


def _names_of(keys: Iterable[EndpointKey]) -> frozenset[str]:
    return frozenset(key.name for key in keys)


def _find_reason_to_stop(hold: Hold, progress: _Progress, size: int) -> str:
    for refusal in find_stop_refusals(hold.provider):
        return str(refusal)
    # Not before the first batch: a slow provider's would never come.
    if progress.is_begun and time.monotonic() - hold.started > settings.DNSADMIN_LONGEST_RUN.total_seconds():
        return "It gave way to others. The next run goes on."
    most = _MOST_FAILED_IN_A_ROW_ALONE if size == 1 else _MOST_FAILED_IN_A_ROW
    if progress.failed_in_a_row >= most:
        return f"{progress.failed_in_a_row} requests in a row changed nothing, so no more were sent."
    return ""
