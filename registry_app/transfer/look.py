"""Reading back: what became of a step. Believe only this."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.utils import timezone

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.transfer.claim_key import ClaimKey
from registry_app.transfer.live_zone import LiveZone
from registry_app.transfer.run import Run
from registry_app.transfer.standing import Change, is_as_written

Outcome = Literal["new", "old", "neither"]
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0
_GROWTH = 1.6


@dataclass(frozen=True)
class ReadBack:
    """What stands at each place of a step, judged."""

    zone: LiveZone
    outcomes: Mapping[ClaimKey, Outcome]

    @property
    def is_as_wanted(self) -> bool:
        return all(outcome == "new" for outcome in self.outcomes.values())


def look(run: Run, changes: Mapping[ClaimKey, Change], names: set[str], *, since: datetime) -> ReadBack:
    """Read until all changes show, or until the provider's time for that, counted from `since`, is over.

    Reads at least once. Raises ProviderError or WireError if the last of the readings failed.
    """
    allowed = timedelta(seconds=run.provider.read_back_seconds)
    # By a clock that never jumps; and should the other one have gone back since, no longer than allowed.
    until = time.monotonic() + min(allowed, since + allowed - timezone.now()).total_seconds()
    pause = _FIRST_PAUSE
    while True:
        failure: ProviderError | WireError | None = None
        try:
            found = judge(run.read(names), changes)
        except (ProviderError, WireError) as error:
            failure = error
        else:
            if found.is_as_wanted:
                return found
        left = until - time.monotonic()
        if left <= 0:
            if failure is not None:
                raise failure
            return found
        time.sleep(min(pause, left))
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)


def judge(zone: LiveZone, changes: Mapping[ClaimKey, Change]) -> ReadBack:
    """The outcome of each change in one reading. Pure."""
    return ReadBack(zone, {key: _judge_change(zone, key, change) for key, change in changes.items()})


def _judge_change(zone: LiveZone, key: ClaimKey, change: Change) -> Outcome:
    if key in zone.doubtful:
        return "neither"
    live = zone.standing(key)
    if is_as_written(live, change.new):
        return "new"
    return "old" if is_as_written(live, change.old) else "neither"
