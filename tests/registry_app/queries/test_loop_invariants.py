"""The invariants of loop runs, each shown broken once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry_app.models import LoopRun, LoopStep
from registry_app.queries.write_invariants import LOOP_INVARIANTS
from tests.factories import make_owner, make_provider

pytestmark = pytest.mark.django_db


def _make_run(**values: Any) -> LoopRun:
    """A run that sent one change set and read it back."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "owner": make_owner("parked"),
        "provider": make_provider(),
        "trigger": "schedule",
        "policy": "sync",
        "source": "declared endpoints",
        "status": LoopRun.Status.VERIFIED,
        "epoch": 1,
        "started_at": now,
        "created": 1,
    }
    run = LoopRun.objects.create(**{**defaults, **values})
    LoopStep.objects.create(
        run=run,
        ordinal=1,
        status=LoopStep.Status.VERIFIED,
        change_set="{}",
        body_digest="d",
        epoch=1,
        stored_at=now,
        answered_at=now,
        read_back_at=now,
    )
    return run


def _broken() -> list[str]:
    return [invariant.id for invariant in LOOP_INVARIANTS if invariant.find() is not None]


def _forget_the_body() -> None:
    LoopStep.objects.update(change_set="")


def _answer_before_it_was_stored() -> None:
    LoopStep.objects.update(answered_at=timezone.now() - timedelta(minutes=1))


def _forget_the_step() -> None:
    LoopStep.objects.all().delete()


def _never_read_back() -> None:
    LoopStep.objects.update(read_back_at=None)


def _leave_a_step_open() -> None:
    LoopStep.objects.update(status=LoopStep.Status.ANSWERED)


def _leave_it_running() -> None:
    LoopRun.objects.update(
        status=LoopRun.Status.RUNNING, started_at=timezone.now() - timedelta(hours=1), next_attempt_at=None
    )


@pytest.mark.parametrize(
    ("spoil", "broken"),
    [
        (_forget_the_body, ["I5"]),
        (_answer_before_it_was_stored, ["I5"]),
        (_forget_the_step, ["I5"]),
        (_never_read_back, ["I6"]),
        (_leave_a_step_open, ["I6"]),
        (_leave_it_running, ["I7"]),
    ],
)
def test_each_is_found_where_it_is_broken(spoil: Callable[[], None], broken: list[str]) -> None:
    _make_run()
    assert _broken() == []

    spoil()

    assert _broken() == broken
