"""What a provider shows now, read once for all instances that ask within a moment."""

import gzip
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from threading import Lock

from providers.client.provider_client import RecordsAnswer
from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.clock import fetch_now
from registry_app.errors import SecretUnavailable
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.mirror.baseline import compare_with_known, raise_if_implausible
from registry_app.mirror.client import build_client
from registry_app.mirror.plausibility import Counts, count_endpoints
from registry_app.models import Provider
from registry_app.reconcile.failure import describe_failure

_MAX_AGE_SECONDS = 5.0
# Fast, and a third of the bytes; higher levels gain a tenth for several times the time.
_GZIP_LEVEL = 1


@dataclass(frozen=True)
class RecordsReading:
    """A plausible response of `GET /records`, byte for byte. Of two with one number it is the same.

    `place` is empty for the provider's own; one that was built says for whom.
    """

    body: bytes
    place: tuple[int, str] | tuple[()] = ()
    number: int = field(default_factory=partial(next, count()))

    @cached_property
    def compressed(self) -> bytes:
        """The body in gzip, compressed once for all who ask for it."""
        return gzip.compress(self.body, _GZIP_LEVEL, mtime=0)


@dataclass(frozen=True)
class _Checked:
    """A reading, and how much it shows."""

    reading: RecordsReading
    counts: Counts
    item_count: int


@dataclass(frozen=True)
class _Flight:
    """A reading that is under way or done. `version` is what the provider's row said when it began."""

    began_at: float
    version: object
    reading: "Future[RecordsReading]"

    def serves(self, version: object) -> bool:
        """Whether it may answer somebody who asks now: nobody wrote since it began."""
        is_young = time.monotonic() - self.began_at <= _MAX_AGE_SECONDS
        has_failed = self.reading.done() and self.reading.exception() is not None
        return is_young and not has_failed and self.version == version


class RecordsReader:
    """Reads providers, each at most once at a time and once in five seconds, as long as nobody has its lease.

    Whoever writes takes the lease, which gives it another epoch: an older reading is not used again. While
    somebody has it, each request is answered by a reading of its own, begun after it came.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._flights: dict[int, _Flight] = {}
        self._checked: dict[int, _Checked] = {}

    def read(self, provider: Provider, deadline: Deadline) -> RecordsReading:
        """What the provider shows. `provider` is as the database has it now. Raises Unavailable: never an
        empty or old list instead of an error (I13)."""
        if provider.lease_until is not None and provider.lease_until > fetch_now():
            return self._fetch(provider, deadline)
        flight, is_mine = self._join(provider)
        if is_mine:
            _complete(flight.reading, lambda: self._fetch(provider, deadline))
        try:
            return flight.reading.result(timeout=deadline.left())
        except FutureTimeout:
            raise Unavailable(f"{provider.name} is still being read.") from None

    def _join(self, provider: Provider) -> tuple[_Flight, bool]:
        version = (provider.lease_epoch, provider.updated_at)
        with self._lock:
            flight = self._flights.get(provider.pk)
            if flight is not None and flight.serves(version):
                return flight, False
            flight = _Flight(time.monotonic(), version, Future())
            self._flights[provider.pk] = flight
            return flight, True

    def _fetch(self, provider: Provider, deadline: Deadline) -> RecordsReading:
        try:
            with build_client(provider, seconds=deadline.left()) as client:
                answer = client.records()
            checked = self._check(provider, answer)
            found = compare_with_known(provider, checked.counts, checked.item_count)
            raise_if_implausible(provider, found)
        except (ProviderError, WireError, SecretUnavailable) as error:
            raise Unavailable(f"{provider.name} cannot be read: {describe_failure(error)[1]}") from error
        return checked.reading

    def _check(self, provider: Provider, answer: RecordsAnswer) -> _Checked:
        """The same bytes are not decoded again, nor compressed or cut again: it is the same reading."""
        known = self._checked.get(provider.pk)
        if known is None or known.reading.body != answer.body:
            decoded = decode_records(answer.body, max_items=provider.max_items)
            item_count = len(decoded.endpoints) + len(decoded.set_aside)
            reading = RecordsReading(answer.body)
            known = _Checked(reading, count_endpoints(decoded.endpoints), item_count)
            self._checked[provider.pk] = known
        return known


def _complete(reading: "Future[RecordsReading]", fetch: Callable[[], RecordsReading]) -> None:
    """Whatever happens, those who wait get to know it."""
    try:
        reading.set_result(fetch())
    except BaseException as error:  # noqa: BLE001 - raised again by `result`, in each thread that waits
        reading.set_exception(error)
