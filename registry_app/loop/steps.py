"""The steps of a run: stored with their record sets, settled with what is shown of each."""

from collections.abc import Sequence

from registry_app.loop.session import LoopSession
from registry_app.loop.step_changes import StepItem, format_items
from registry_app.models import LoopRun, LoopStep
from registry_app.writes.step import settle_step, store_step

_STATUS = LoopStep.Status


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
