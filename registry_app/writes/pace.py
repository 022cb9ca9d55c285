"""When a run that sends batch after batch stops before its end, and when a failed one is tried again."""

from dataclasses import dataclass
from datetime import timedelta

from providers.http import pause
from registry_app.writes.session import WriteSession

# A provider that refuses everything does not get a thousand requests.
_MOST_FAILED_IN_A_ROW = 3
_MOST_FAILED_IN_A_ROW_ALONE = 10
MOST_ATTEMPTS = 6
_FIRST_SECONDS, _LONGEST_SECONDS = 10, 300


@dataclass
class Pace:
    """What became of the batches of a run so far."""

    session: WriteSession
    is_begun: bool = False
    failed_in_a_row: int = 0

    def note_batch(self, *, has_changed: bool) -> None:
        """A batch was sent and read back; `has_changed`: at least one change of it shows."""
        self.is_begun = True
        self.failed_in_a_row = 0 if has_changed else self.failed_in_a_row + 1

    def is_over_time(self) -> bool:
        """Whether to go on in a later run. Never before the first batch: a slow provider would get none."""
        return self.is_begun and self.session.is_over_time()

    def describe_failures(self) -> str:
        """Why nothing more is sent to a provider that changes nothing; empty if it changes something."""
        is_alone = self.session.provider.effective_batch_size == 1
        if self.failed_in_a_row < (_MOST_FAILED_IN_A_ROW_ALONE if is_alone else _MOST_FAILED_IN_A_ROW):
            return ""
        return f"{self.failed_in_a_row} requests in a row changed nothing, so no more were sent."


def compute_pause(earlier_attempts: int) -> timedelta:
    """The time to wait after a failed attempt that followed `earlier_attempts` failed ones."""
    failures = max(earlier_attempts, 0) + 1
    return timedelta(seconds=pause.compute_pause(failures, first=_FIRST_SECONDS, longest=_LONGEST_SECONDS))
