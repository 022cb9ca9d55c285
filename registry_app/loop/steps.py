"""The steps of a run: stored with their record sets, settled by reading the provider. Only this decides."""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from registry_app.clock import fetch_now
from registry_app.loop.claim_rows import decode_rows, judge_rows
from registry_app.loop.session import LoopSession
from registry_app.loop.step_changes import (
    StepItem,
    changes_of_step,
    format_items,
    judge_items,
    list_questions_of,
    parse_items,
)
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import LoopRun, LoopStep
from registry_app.writes.read_back import read_until
from registry_app.writes.step import settle_step, store_step

_STATUS = LoopStep.Status
Found = tuple[Snapshot, tuple[StepItem, ...]]


def store_run_step(
    session: LoopSession, run: LoopRun, body: bytes, items: Sequence[StepItem], *, store: str = ""
) -> LoopStep:
    """Store what is about to be sent, to the provider or to a registry store (its profile's primary key as
    text). Raises LeaseLost."""

    def build() -> LoopStep:
        return LoopStep(
            run=run,
            ordinal=run.steps.count() + 1,
            registry_profile_id=int(store) if store else None,
            items=format_items(items),
        )

    return store_step(session, body, build)


def settle_run_step(session: LoopSession, step: LoopStep, items: Sequence[StepItem]) -> None:
    """Store what the provider shows of each record set of a step. Raises LeaseLost."""
    is_done = all(item.outcome == "verified" for item in items)
    status = _STATUS.VERIFIED if is_done else _STATUS.INCOMPLETE
    settle_step(session, step, status, items=format_items(items))


def read_back_and_settle(session: LoopSession, step: LoopStep, names: Collection[str] | None = None) -> Found:
    """Read until all of the step shows, or the provider's time for that is over, and store what is shown.

    `names` are those that the snapshot must contain, the step's among them; None: all of them. Raises
    ProviderError or WireError if the last of the readings failed, and LeaseLost.
    """
    judge = _judge_of(session, step)

    def read() -> Found:
        snapshot = session.read(names)
        return snapshot, judge(snapshot)

    found = read_until(
        read,
        lambda seen: all(item.outcome == "verified" for item in seen[1]),
        allowed=timedelta(seconds=session.provider.read_back_seconds),
        since=step.answered_at or fetch_now(),
    )
    settle_run_step(session, step, found[1])
    return found


def _judge_of(session: LoopSession, step: LoopStep) -> Callable[[Snapshot], tuple[StepItem, ...]]:
    items = parse_items(step)
    if not step.store:
        changes = changes_of_step(step)

        def judge(snapshot: Snapshot) -> tuple[StepItem, ...]:
            equal = session.find_equal_values(list_questions_of(changes, snapshot))
            return judge_items(items, changes, snapshot, equal)

        return judge
    rows = decode_rows(step.change_set.encode())
    return lambda snapshot: judge_rows(items, rows, snapshot, step.store)
