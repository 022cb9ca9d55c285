"""A window that comes back every week: whether a moment lies in it, and until when that stays so. Pure.

Start and length are what clocks in its time zone show: from Friday 16:00 it is 64 hours to Monday 08:00, also
where an hour is skipped or repeated between the two. Of a time that comes twice the first counts; a time that
is skipped is that much later.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_MINUTES = 7 * 24 * 60
# Clocks of different zones differ by a day at most, and one window lasts a week at most.
_BEFORE = timedelta(days=9)
_AFTER = timedelta(days=17)
# Windows without a gap for so long have none at all. (A gap in the hour that is skipped once a year is gone
# in that week.)
_NO_END = timedelta(days=15)


@dataclass(frozen=True)
class WeeklyWindow:
    """It begins on each of `weekdays` (among `WEEKDAYS`) at `start`, and lasts `minutes`."""

    weekdays: Sequence[str]
    start: time
    minutes: int
    zone: ZoneInfo


@dataclass(frozen=True)
class Position:
    """Whether a moment lies in a window, and when that changes; None: never."""

    is_inside: bool
    until: datetime | None


def find_position(window: WeeklyWindow, at: datetime) -> Position:
    """Where `at` lies. A moment at which a window begins is inside, one at which it ends is not."""
    for begin, end in _join(_list_spans(window, at)):
        if end <= at:
            continue
        if begin > at:
            return Position(is_inside=False, until=begin)
        return Position(is_inside=True, until=end if end - at < _NO_END else None)
    return Position(is_inside=False, until=None)


def _list_spans(window: WeeklyWindow, at: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The windows around `at`, in the order in which they begin."""
    day = (at - _BEFORE).date()
    chosen = {WEEKDAYS.index(each) for each in window.weekdays}
    for number in range((_BEFORE + _AFTER).days):
        date = day + timedelta(days=number)
        if date.weekday() not in chosen:
            continue
        local = datetime.combine(date, window.start)
        begin, end = (
            _to_utc(each, window.zone) for each in (local, local + timedelta(minutes=window.minutes))
        )
        if begin < end:  # a skipped hour may take all of it
            yield begin, end


def _to_utc(local: datetime, zone: ZoneInfo) -> datetime:
    return local.replace(tzinfo=zone).astimezone(UTC)


def _join(spans: Iterator[tuple[datetime, datetime]]) -> Iterator[tuple[datetime, datetime]]:
    """Spans that overlap or touch, as one."""
    first = next(spans, None)
    if first is None:
        return
    begin, end = first
    for next_begin, next_end in spans:
        if next_begin > end:
            yield begin, end
            begin, end = next_begin, next_end
        end = max(end, next_end)
    yield begin, end
