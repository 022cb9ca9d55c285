"""A weekly window goes by the clocks of its time zone, also where an hour is skipped or comes twice."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_app.queries.weekly_window import MOST_MINUTES, WEEKDAYS, Position, WeeklyWindow, find_position

_BERLIN = ZoneInfo("Europe/Berlin")
# Friday 16:00 to Monday 08:00; in 2026 clocks there go forward on 29 March, and back on 25 October.
_WEEKEND = WeeklyWindow(("fri",), time(16), 64 * 60, _BERLIN)
_OFFICE = WeeklyWindow(("tue", "wed", "thu"), time(9), 7 * 60, _BERLIN)
_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")


def _utc(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (_utc(1, 9, 14, 59), Position(is_inside=False, until=_utc(1, 9, 15))),
        (_utc(1, 9, 15), Position(is_inside=True, until=_utc(1, 12, 7))),
        (_utc(1, 12, 6, 59), Position(is_inside=True, until=_utc(1, 12, 7))),
        (_utc(1, 12, 7), Position(is_inside=False, until=_utc(1, 16, 15))),
        # The hour that is skipped, and the one that comes twice, lie within these.
        (_utc(3, 28, 12), Position(is_inside=True, until=_utc(3, 30, 6))),
        (_utc(10, 24, 12), Position(is_inside=True, until=_utc(10, 26, 7))),
        (_utc(3, 23, 12), Position(is_inside=False, until=_utc(3, 27, 15))),
        (_utc(3, 30, 6), Position(is_inside=False, until=_utc(4, 3, 14))),
    ],
)
def test_a_weekend_begins_and_ends_by_local_clocks(at: datetime, found: Position) -> None:
    assert find_position(_WEEKEND, at) == found


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (_utc(7, 7, 6, 59), Position(is_inside=False, until=_utc(7, 7, 7))),
        (_utc(7, 7, 7), Position(is_inside=True, until=_utc(7, 7, 14))),
        (_utc(7, 7, 14), Position(is_inside=False, until=_utc(7, 8, 7))),
        (_utc(7, 9, 14), Position(is_inside=False, until=_utc(7, 14, 7))),
    ],
)
def test_a_window_on_several_days_begins_on_each(at: datetime, found: Position) -> None:
    assert find_position(_OFFICE, at) == found


def test_a_time_that_is_skipped_is_that_much_later_and_of_one_that_comes_twice_the_first_counts() -> None:
    night = WeeklyWindow(("sun",), time(2, 30), 60, _BERLIN)

    skipped = find_position(night, _utc(3, 29, 0))
    twice = find_position(night, _utc(10, 25, 0))

    assert skipped.until == _utc(4, 5, 0, 30)  # 03:30 as clocks then show is where it ends: nothing is left
    assert twice.until == _utc(10, 25, 0, 30)
    assert find_position(night, _utc(10, 25, 1, 59)).until == _utc(10, 25, 2, 30)


def test_windows_that_touch_are_one_and_without_a_gap_they_never_end() -> None:
    days = WeeklyWindow(("mon", "tue"), time(0), 24 * 60, ZoneInfo("UTC"))
    week = WeeklyWindow(("mon",), time(8), MOST_MINUTES, _BERLIN)

    assert find_position(days, _utc(1, 5, 12)) == Position(is_inside=True, until=_utc(1, 7, 0))
    assert find_position(week, _utc(3, 28, 12)) == Position(is_inside=True, until=None)


@given(
    at=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - set to UTC below
    weekdays=st.sets(st.sampled_from(WEEKDAYS), min_size=1),
    start=st.times().map(lambda each: each.replace(second=0, microsecond=0)),
    minutes=st.integers(1, MOST_MINUTES),
    zone=st.sampled_from(_ZONES),
)
def test_until_is_the_next_moment_at_which_it_differs(
    at: datetime, weekdays: set[str], start: time, minutes: int, zone: str
) -> None:
    window = WeeklyWindow(tuple(weekdays), start, minutes, ZoneInfo(zone))
    at = at.replace(tzinfo=UTC)
    second = timedelta(seconds=1)

    found = find_position(window, at)

    if found.until is None:
        assert found.is_inside
        return
    assert at < found.until <= at + timedelta(days=15)
    assert find_position(window, found.until - second) in (found, Position(found.is_inside, found.until))
    assert find_position(window, found.until).is_inside is not found.is_inside


@given(
    at=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - set to UTC below
    weekday=st.sampled_from(WEEKDAYS),
    hour=st.integers(4, 20),
    minutes=st.integers(1, 180),
    zone=st.sampled_from(_ZONES[:3]),
)
def test_by_day_it_is_what_a_clock_on_the_wall_says(
    at: datetime, weekday: str, hour: int, minutes: int, zone: str
) -> None:
    window = WeeklyWindow((weekday,), time(hour), minutes, ZoneInfo(zone))
    local = at.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    shown = local.hour * 60 + local.minute - hour * 60

    expected = WEEKDAYS[local.weekday()] == weekday and 0 <= shown < minutes

    assert find_position(window, at.replace(tzinfo=UTC)).is_inside is expected
