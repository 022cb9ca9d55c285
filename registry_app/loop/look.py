"""Reading back: what became of a step. Believe only this."""

from collections.abc import Callable, Collection
from datetime import timedelta

from registry_app.clock import fetch_now
from registry_app.loop.claim_rows import decode_rows, judge_rows
from registry_app.loop.hold import Hold
from registry_app.loop.step_changes import (
    StepItem,
    changes_of_step,
    judge_items,
    list_questions_of,
    parse_items,
)
from registry_app.loop.steps import settle_step
from registry_app.mirror.snapshot import Snapshot
from registry_app.mirror.written import read_until
from registry_app.models import LoopStep

Found = tuple[Snapshot, tuple[StepItem, ...]]


def look_and_settle(hold: Hold, step: LoopStep, names: Collection[str] | None = None) -> Found:
    """Read until all of the step shows, or the provider's time for that is over, and store what is shown.

    `names` are those that the snapshot must hold, the step's among them; None: all of them. Raises
    ProviderError or WireError if the last of the readings failed, and LeaseLost.
    """
    judge = _judge_of(hold, step)

    def read() -> Found:
        snapshot = hold.read(names)
        return snapshot, judge(snapshot)

    found = read_until(
        read,
        lambda seen: all(item.outcome == "verified" for item in seen[1]),
        allowed=timedelta(seconds=hold.provider.read_back_seconds),
        since=step.answered_at or fetch_now(),
    )
    settle_step(hold, step, found[1])
    return found


def _judge_of(hold: Hold, step: LoopStep) -> Callable[[Snapshot], tuple[StepItem, ...]]:
    items = parse_items(step)
    if step.registry_profile_id is None:
        changes = changes_of_step(step)

        def judge(snapshot: Snapshot) -> tuple[StepItem, ...]:
            equal = hold.find_equal_values(list_questions_of(changes, snapshot))
            return judge_items(items, changes, snapshot, equal)

        return judge
    rows, store = decode_rows(step.change_set.encode()), str(step.registry_profile_id)
    return lambda snapshot: judge_rows(items, rows, snapshot, store)
