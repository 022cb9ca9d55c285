"""The steps of a run: stored with their record sets, settled by reading the provider. Only this decides."""

from collections.abc import Collection, Sequence
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


def read_back_and_settle(session: LoopSession, step: LoopStep, names: Collection[str] | None = None) -> Found:
    """Read until all of the step shows, or the provider's time for that is over, and store what is shown.

    `names` are those that the snapshot must contain, the step's among them; None: all of them. Raises
    ProviderError or WireError if the last of the readings failed, and LeaseLost.
    """
    items = parse_items(step)
    rows = decode_rows(step.change_set.encode()) if step.store else ()
    changes = {} if step.store else changes_of_step(step)

    def read() -> Found:
        snapshot = session.read(names)
        if step.store:
            return snapshot, judge_rows(items, rows, snapshot, step.store)
        equal = session.find_equal_values(list_questions_of(changes, snapshot))
        return snapshot, judge_items(items, changes, snapshot, equal)

    found = read_until(
        read,
        _is_verified,
        allowed=timedelta(seconds=session.provider.read_back_seconds),
        since=step.answered_at or fetch_now(),
    )
    status = LoopStep.Status.VERIFIED if _is_verified(found) else LoopStep.Status.INCOMPLETE
    settle_step(session, step, status, items=format_items(found[1]))
    return found


def _is_verified(found: Found) -> bool:
    return all(item.outcome == "verified" for item in found[1])
