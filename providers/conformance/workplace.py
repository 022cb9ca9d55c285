"""The names a writing run works under: made for it, nobody else's, and empty again at its end."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from providers.conformance.observation import Observation, Verdict
from providers.conformance.subject import Said, Subject, Unanswered
from providers.http.pause import compute_pause
from providers.wire.canonical_name import InvalidName, canonical_name, endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_LEAST_DOUBT = 0.3
_LEAST_TRIES = 5


@dataclass
class Workplace:
    """A label below `zone` that no endpoint of the provider carries, and how long it may take to show a
    change (`patience`, seconds)."""

    subject: Subject
    zone: str
    patience: float
    label: str = field(default_factory=lambda: f"dnsadmin-check-{secrets.token_hex(4)}")
    slowest: float = 0.0  # how long the slowest change so far took to show

    @property
    def doubt(self) -> float:
        """How long to wait for what, most likely, never comes: a provider that showed all else at once would
        show it soon."""
        return min(self.patience, _LEAST_DOUBT + 3 * self.slowest)

    def time_for(self, said: Said) -> float:
        """How long what was asked for may take to show. What was refused is only doubted."""
        return self.patience if said.is_success else self.doubt

    def name(self, case: str) -> str:
        """A name for one case."""
        return f"{case}.{self.label}.{self.zone}"

    def holds(self, endpoint: Endpoint) -> bool:
        """Whether an endpoint is one of ours."""
        try:
            name = canonical_name(endpoint.dns_name)
        except InvalidName:
            return False
        return name.endswith(f".{self.label}.{self.zone}")

    def fetch_ours(self) -> list[Endpoint]:
        """What stands under our label now."""
        return [each for each in self.subject.fetch_endpoints() if self.holds(each)]

    def fetch_at(self, name: str) -> list[Endpoint]:
        """What stands at one of our names now."""
        wanted = canonical_name(name)
        return [each for each in self.fetch_ours() if endpoint_key(each).name == wanted]

    def wait_for(
        self, name: str, is_there: Callable[[Sequence[Endpoint]], bool], *, seconds: float | None = None
    ) -> list[Endpoint]:
        """What stands at a name once it is as wanted, or when the time (else the patience) is over."""
        started, tries = time.monotonic(), 0
        until = started + (self.patience if seconds is None else seconds)
        while True:
            found = self.fetch_at(name)
            left = until - time.monotonic()
            if is_there(found):
                self.slowest = max(self.slowest, time.monotonic() - started)
                return found
            if left <= 0:
                return found
            tries += 1
            time.sleep(min(compute_pause(tries, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE), left))

    def create(self, *endpoints: Endpoint) -> Said:
        """Ask for endpoints that are not there."""
        return self.subject.apply(ChangeSet(create=endpoints))

    def clean_up(self) -> Observation:
        """Delete all that stands under our label, each by itself if it must be, and say what stays."""
        title = "Everything created for this run is deleted"
        detail, tries = "", 0
        until = time.monotonic() + self.patience
        while tries < _LEAST_TRIES or time.monotonic() < until:
            tries += 1
            try:
                left = self.fetch_ours()
                if not left:
                    return Observation("cleaning up", title, Verdict.PASSED)
                self.subject.apply(ChangeSet(delete=tuple(left)))
                for each in self.fetch_ours():
                    self.subject.apply(ChangeSet(delete=(each,)))
            except Unanswered as error:
                detail = f" {error}"
            time.sleep(compute_pause(tries, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE))
        return Observation(
            "cleaning up",
            title,
            Verdict.FAILED,
            f"Endpoints below {self.label}.{self.zone} may be left.{detail}",
            f"Delete the records below {self.label}.{self.zone} by hand.",
        )
