"""A slow provider is read again until it shows what it was told, within its time, and not longer."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from providers.wire.errors import WireError
from registry_app.writes.read_back import read_until

# What is left of the time is asked of the database, whose clock the steps were stored by.
pytestmark = pytest.mark.django_db
_ALLOWED = timedelta(seconds=1)


class Readings:
    """A provider that shows one thing after the other; the last of them for ever."""

    def __init__(self, *shown: str) -> None:
        self.count = 0
        self._shown = self._play(shown)

    def __call__(self) -> str:
        self.count += 1
        found = next(self._shown)
        if found == "broken":
            raise WireError("cut short")
        return found

    @staticmethod
    def _play(shown: tuple[str, ...]) -> Iterator[str]:
        yield from shown
        while True:
            yield shown[-1]


def _read(readings: Readings, *, ago: timedelta = timedelta(0), allowed: timedelta = _ALLOWED) -> str:
    return read_until(readings, lambda found: found == "new", allowed=allowed, since=timezone.now() - ago)


def test_it_reads_again_until_it_shows() -> None:
    readings = Readings("old", "broken", "new")

    assert _read(readings) == "new"

    assert readings.count == 3


# SQLite's clock shows whole milliseconds: it may be one behind.
@pytest.mark.parametrize("ago", [timedelta(hours=1), _ALLOWED + timedelta(milliseconds=1)])
def test_what_was_sent_long_ago_is_read_once(ago: timedelta) -> None:
    readings = Readings("old")

    assert _read(readings, ago=ago) == "old"

    assert readings.count == 1


def test_it_ends_when_its_time_is_over_with_what_it_saw_last() -> None:
    readings = Readings("old")

    assert _read(readings, allowed=timedelta(seconds=0.3)) == "old"

    assert readings.count in (2, 3)


def test_a_clock_that_went_back_since_makes_it_no_longer() -> None:
    readings = Readings("old")

    assert _read(readings, ago=timedelta(days=-365), allowed=timedelta(seconds=0.3)) == "old"

    assert readings.count in (2, 3)


def test_the_last_reading_decides_a_broken_one_too() -> None:
    with pytest.raises(WireError):
        _read(Readings("old", "broken"), allowed=timedelta(seconds=0.1))
