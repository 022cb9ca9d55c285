"""The provider that is tested (raw calls, each bounded and sent once), the names a run writes under, and what
it observes."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import ProviderError
from providers.http.pause import compute_pause
from providers.wire.canonical_name import InvalidName, canonical_name, endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import (
    PLUGIN_MEDIA_TYPE,
    WEBHOOK_MEDIA_TYPE,
    decode_records,
    encode_change_set,
    encode_endpoints,
)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_SHORTEST_WAIT = 0.3
_FEWEST_TRIES = 5


class Verdict(StrEnum):
    """What an observation means for whoever runs ExternalDNS or dnsadmin against this provider."""

    PASSED = "passed"  # as the protocol has it
    NOTED = "noted"  # allowed, and good to know: a quirk, a limit, something it does not hold
    FAILED = "failed"  # against the protocol: clients stop, or take for true what is not
    SKIPPED = "skipped"  # could not be asked


class Observation(msgspec.Struct, frozen=True):
    """One thing that was looked at. `advice` is what to do about it, or which setting fits it."""

    area: str
    title: str
    verdict: Verdict
    detail: str = ""
    advice: str = ""


class Area(StrEnum):
    """What a part of a run is about; it makes the observations of that part."""

    NEGOTIATION = "negotiation"
    RECORDS = "records"
    ADJUSTING = "adjustendpoints"
    EQUAL_VALUES = "propertyvaluesequal"
    BAD_INPUT = "bad input"
    ROUND_TRIP = "round trip"
    EXACTNESS = "exactness"
    AS_EXTERNAL_DNS = "as ExternalDNS sends"
    CLEANING_UP = "cleaning up"

    def observe(self, verdict: Verdict, title: str, detail: str = "", advice: str = "") -> Observation:
        return Observation(self.value, title, verdict, detail, advice)

    def passed(self, title: str, detail: str = "", advice: str = "") -> Observation:
        return self.observe(Verdict.PASSED, title, detail, advice)

    def noted(self, title: str, detail: str = "", advice: str = "") -> Observation:
        return self.observe(Verdict.NOTED, title, detail, advice)

    def failed(self, title: str, detail: str = "", advice: str = "") -> Observation:
        return self.observe(Verdict.FAILED, title, detail, advice)

    def skipped(self, title: str, detail: str = "") -> Observation:
        return self.observe(Verdict.SKIPPED, title, detail)


class Report(msgspec.Struct, frozen=True):
    """All observations of one run, in the order in which they were made."""

    origin: str
    protocol: str
    wrote: bool
    seconds: float
    observations: tuple[Observation, ...]

    @property
    def is_conformant(self) -> bool:
        """Whether nothing failed."""
        return not any(each.verdict is Verdict.FAILED for each in self.observations)

    def counts(self) -> dict[str, int]:
        """How many observations there are of each verdict."""
        found = Counter(each.verdict.value for each in self.observations)
        return {verdict.value: found[verdict.value] for verdict in Verdict}


@dataclass(frozen=True)
class Response:
    """One response. `content_type` is safe to show; `body` is empty where only the status counts.
    `varies_by_type`: its Vary header names Content-Type."""

    status: int
    content_type: str
    body: bytes
    seconds: float
    varies_by_type: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Subject:
    """One provider at `url`, speaking `webhook` or `plugin`. Every call raises ProviderError."""

    def __init__(
        self,
        url: str,
        *,
        protocol: str = "webhook",
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
        capitalized_changes: bool = False,
    ) -> None:
        self._http = BoundedHttp(url, credentials, policy, limits)
        self.protocol = protocol
        self.media_type = PLUGIN_MEDIA_TYPE if protocol == "plugin" else WEBHOOK_MEDIA_TYPE
        self.limits = limits
        self.capitalized_changes = capitalized_changes

    @property
    def origin(self) -> str:
        """Where it is, without a login or a query."""
        return str(self._http.address)

    def call(
        self,
        method: str,
        segment: str = "",
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """One request to the base (no segment) or below it."""
        address = self._http.address
        url = address.joined(segment) if segment else address.base_url
        exchange, started = self._http.begin(), time.monotonic()
        given = {"Accept": self.media_type} if headers is None else headers
        with self._http.send(exchange, method, url, given, body) as answer:
            data = answer.read_body().data
            seconds, varies = time.monotonic() - started, answer.varies_by("Content-Type")
            return Response(answer.status, answer.shown_content_type, data, seconds, varies)

    def fetch_endpoints(self) -> tuple[Endpoint, ...]:
        """All endpoints that can be read. Raises ProviderError, or WireError where the body as a whole is
        not what the protocol says."""
        response = self.call("GET", "records")
        if response.status != 200:
            raise WireError(f"GET /records answered {response.status}")
        return tuple(decode_records(response.body, max_items=self.limits.max_items).endpoints)

    def adjust(self, endpoints: Sequence[Endpoint]) -> Response:
        """AdjustEndpoints, which changes nothing."""
        return self.call(
            "POST", "adjustendpoints", body=encode_endpoints(endpoints), headers=self.content_headers()
        )

    def apply(self, change_set: ChangeSet) -> Response:
        """ApplyChanges, sent once."""
        body = encode_change_set(change_set, capitalized_keys=self.capitalized_changes)
        return self.call("POST", "records", body=body, headers={"Content-Type": self.media_type})

    def content_headers(self) -> dict[str, str]:
        """What a request with a body and an answer carries."""
        return {"Accept": self.media_type, "Content-Type": self.media_type}


# What any call may end in that is the provider's doing, not ours.
CALL_ERRORS = (ProviderError, WireError)


@dataclass
class Sandbox:
    """A label below `zone` that no endpoint of the provider carries, and how long it may take to show a
    change (`patience`, seconds)."""

    subject: Subject
    zone: str
    patience: float
    label: str = field(default_factory=lambda: f"dnsadmin-check-{secrets.token_hex(4)}")
    slowest: float = 0.0  # how long the slowest change so far took to show

    @property
    def short_wait(self) -> float:
        """How long to wait for what, most likely, never comes: a provider that showed all else at once would
        show it soon."""
        return min(self.patience, _SHORTEST_WAIT + 3 * self.slowest)

    def time_for(self, response: Response) -> float:
        """How long what was asked for may take to show. What was refused most likely never shows."""
        return self.patience if response.is_success else self.short_wait

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
        """What is under our label now."""
        return [each for each in self.subject.fetch_endpoints() if self.holds(each)]

    def fetch_at(self, name: str) -> list[Endpoint]:
        """What is at one of our names now."""
        wanted = canonical_name(name)
        return [each for each in self.fetch_ours() if endpoint_key(each).name == wanted]

    def wait_for(
        self, name: str, is_there: Callable[[Sequence[Endpoint]], bool], *, seconds: float | None = None
    ) -> list[Endpoint]:
        """What is at a name once it is as wanted, or when the time (else the patience) is over."""
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

    def create(self, *endpoints: Endpoint) -> Response:
        """Ask for endpoints that are not there."""
        return self.subject.apply(ChangeSet(create=endpoints))

    def clean_up(self) -> Observation:
        """Delete all that is under our label, each by itself if it must be, and say what stays."""
        title = "Everything created for this run is deleted"
        detail, tries = "", 0
        until = time.monotonic() + self.patience
        while tries < _FEWEST_TRIES or time.monotonic() < until:
            tries += 1
            try:
                left = self.fetch_ours()
                if not left:
                    return Area.CLEANING_UP.passed(title)
                self.subject.apply(ChangeSet(delete=tuple(left)))
                for each in self.fetch_ours():
                    self.subject.apply(ChangeSet(delete=(each,)))
            except CALL_ERRORS as error:
                detail = f" {error}"
            time.sleep(compute_pause(tries, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE))
        return Area.CLEANING_UP.failed(
            title,
            f"Endpoints below {self.label}.{self.zone} may be left.{detail}",
            f"Delete the records below {self.label}.{self.zone} by hand.",
        )
