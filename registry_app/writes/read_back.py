"""Comparing what a provider shows with what it was sent, and reading until it shows it."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from providers.http.errors import ProviderError
from providers.planning.equal_values import AS_WRITTEN, EqualValues
from providers.stores.registry_catalogue import CLAIM_LABELS
from providers.wire.canonical_name import canonical_targets
from providers.wire.change_set import ChangeSet, merge_by_key
from providers.wire.endpoint import Endpoint, EndpointKey, is_same_ttl
from providers.wire.errors import WireError
from registry_app.clock import fetch_now

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0
_GROWTH = 1.6

Reading = TypeVar("Reading")


class Change(NamedTuple):
    """One place from `old` to `new`, exactly as on the wire; None: nothing is there."""

    old: Endpoint | None
    new: Endpoint | None


def changes_in(change_set: ChangeSet) -> dict[EndpointKey, Change]:
    """The change of each record set of a change set, all its endpoints together."""
    olds = merge_by_key((*change_set.update_old, *change_set.delete))
    news = merge_by_key((*change_set.update_new, *change_set.create))
    return {key: Change(olds.get(key), news.get(key)) for key in {**olds, **news}}


def is_as_written(live: Endpoint | None, wanted: Endpoint | None) -> bool:
    """Whether a place shows what was sent (I6).

    Providers may wrap text in quotes or not, choose the TTL where none was configured or show none at all,
    and add properties of their own; nothing else may differ.
    """
    if live is None or wanted is None:
        return live is None and wanted is None
    return (
        is_same_text(live.targets, wanted.targets)
        and is_same_ttl(wanted.record_ttl, live.record_ttl)
        and set(wanted.provider_specific) <= set(live.provider_specific)
    )


def is_shown(live: Endpoint | None, wanted: Endpoint | None, equal: EqualValues = AS_WRITTEN) -> bool:
    """As `is_as_written`, for record sets of any type: targets may be spelled otherwise, and property values
    in another form that the provider calls `equal`."""
    if live is None or wanted is None or wanted.record_type.upper() == "TXT":
        return is_as_written(live, wanted)
    return (
        canonical_targets(live) == canonical_targets(wanted)
        and is_same_ttl(wanted.record_ttl, live.record_ttl)
        and equal.are_shown(live.provider_specific, wanted.provider_specific)
        and all(live.labels.get(label) == wanted.labels.get(label) for label in CLAIM_LABELS)
    )


def is_same_text(live: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether two lists of targets have the same texts, in quotes or not, in any order."""
    return live == wanted or sorted(map(_unquoted, live)) == sorted(map(_unquoted, wanted))


def read_until(
    read: Callable[[], Reading],
    is_as_wanted: Callable[[Reading], bool],
    *,
    allowed: timedelta,
    since: datetime,
) -> Reading:
    """Read until all is as wanted, or until `allowed`, counted from `since`, is over; the last reading.

    Reads at least once. Raises ProviderError or WireError if the last of the readings failed.
    """
    # Measured by a clock that never jumps; never longer than allowed, even if the other clock was set back.
    until = time.monotonic() + min(allowed, since + allowed - fetch_now()).total_seconds()
    pause = _FIRST_PAUSE
    while True:
        failure: ProviderError | WireError | None = None
        try:
            found = read()
        except (ProviderError, WireError) as error:
            failure = error
        else:
            if is_as_wanted(found):
                return found
        left = until - time.monotonic()
        if left <= 0:
            if failure is not None:
                raise failure
            return found
        time.sleep(min(pause, left))
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)


def _unquoted(target: str) -> str:
    return target[1:-1] if len(target) > 1 and target[0] == target[-1] == '"' else target
