"""What cannot be read back is tried again more and more seldom, for five minutes at most."""

from registry_app.writes.pace import compute_pause


def test_the_pause_begins_at_ten_seconds_and_doubles_up_to_five_minutes() -> None:
    pauses = [compute_pause(earlier).total_seconds() for earlier in range(-1, 8)]

    assert pauses == [10, 10, 20, 40, 80, 160, 300, 300, 300]
