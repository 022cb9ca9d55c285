"""What became of the changes of a step, by reading provider and stores. Only this decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from registry_app.transfer.plan.claim_key import ClaimKey
from registry_app.transfer.send.live_zone import LiveZone
from registry_app.transfer.send.session import TransferSession
from registry_app.writes.read_back import Change, is_as_written, read_until

Outcome = Literal["new", "old", "neither"]


@dataclass(frozen=True)
class ReadBack:
    """What stands at each place of a step, judged."""

    zone: LiveZone
    outcomes: Mapping[ClaimKey, Outcome]

    @property
    def is_as_wanted(self) -> bool:
        return all(outcome == "new" for outcome in self.outcomes.values())


def read_back(
    session: TransferSession, changes: Mapping[ClaimKey, Change], names: set[str], *, since: datetime
) -> ReadBack:
    """Read until all changes show, or until the provider's time for that, counted from `since`, is over.

    Reads at least once. Raises ProviderError or WireError if the last of the readings failed.
    """
    return read_until(
        lambda: judge(session.read(names), changes),
        lambda found: found.is_as_wanted,
        allowed=timedelta(seconds=session.provider.read_back_seconds),
        since=since,
    )


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
