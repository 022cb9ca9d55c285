"""What a client of any protocol offers: four calls, each bounded; a change set is sent once."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from providers.http.address_policy import AddressPolicy
from providers.http.answer import Body
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import (
    MalformedAnswer,
    NotAProvider,
    ProviderError,
    build_change_error,
    safe_excerpt,
)
from providers.http.exchange import Exchange
from providers.wire.domain_filter import ParsedFilter
from providers.wire.endpoint import Endpoint, ValuePair
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_endpoints_strict, encode_endpoints

_T = TypeVar("_T")


@dataclass(frozen=True)
class RecordsAnswer:
    """The response of `GET /records`, not decoded yet.

    `content_type` is safe to show; a wrong one is a finding, not a failure. `seconds` is how long the whole
    call took.
    """

    body: bytes
    content_type: str
    seconds: float


class ProviderClient:
    """Speaks to one provider; every call raises a ProviderError when it does not succeed.

    No connection outlives its call, so one client may serve several threads. After `close`, or the `with`
    block, the credentials are dropped and no call is possible.
    """

    protocol: ClassVar[str]  # what a person calls it
    media_type: ClassVar[str]
    # The statuses that mean success, of the negotiation and of a change set.
    negotiated: ClassVar[Collection[int]]
    applied: ClassVar[Collection[int]]
    must_vary: ClassVar[bool] = False  # its response to the negotiation names Content-Type in Vary

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._http: BoundedHttp | None = BoundedHttp(url, credentials, policy, limits)
        self._limits = limits
        self._accept = {"Accept": self.media_type}
        self._content_type = {"Content-Type": self.media_type}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the credentials."""
        self._http = None

    def negotiate(self) -> ParsedFilter:
        """Make sure that the protocol is spoken there, and what the domain filter is.

        Raises NotAProvider when the response is not of the protocol's media type.
        """
        raise NotImplementedError

    def records(self) -> RecordsAnswer:
        """Fetch all records, undecoded."""
        return self._run(self._fetch_records)

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        """Let the provider put endpoints into the form it would store; nothing changes there."""
        return self._run(lambda seconds: self._adjust_endpoints(endpoints, seconds))

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> frozenset[ValuePair]:
        """Those pairs of property values that mean the same there, within the time of one call; nothing
        changes. A protocol without this question looks at none of the pairs. Never raises."""
        raise NotImplementedError

    def apply_changes(self, change_set_body: bytes) -> None:
        """Send exactly these bytes, once. Returning means that the provider reported success, which proves
        nothing.

        Raises NothingSent while not one byte had left, and OutcomeUnknown for everything after that,
        refusals included: some providers apply a part and then refuse.
        """
        http, exchange = self._begin()
        try:
            url = http.address.joined("records")
            with http.send(exchange, "POST", url, self._content_type, change_set_body) as answer:
                if answer.status not in self.applied:
                    raise answer.refusal()
        except ProviderError as exc:
            raise build_change_error(exc, was_sent=exchange.began_sending) from exc

    def _run(self, call: Callable[[float | None], _T]) -> _T:
        """Run a call that changes nothing, given the seconds it has (None: the whole deadline)."""
        return call(None)

    def _negotiate(self, seconds: float | None) -> tuple[Body, str]:
        """The response of the bare URL, and where it came from."""
        http, exchange = self._begin(seconds)
        with http.send(exchange, "GET", http.address.base_url, self._accept) as answer:
            if answer.status not in self.negotiated:
                raise answer.refusal()
            problem = ""
            if answer.content_type != self.media_type:
                problem = f"its Content-Type is {answer.shown_content_type!r}, not {self.media_type!r}"
            elif self.must_vary and not answer.varies_by("Content-Type"):
                problem = "its Vary header does not name Content-Type"
            if problem:
                raise NotAProvider(
                    f"{exchange.origin} responds, but not as a {self.protocol} provider: {problem}.",
                    hint="Check the port, the path and the protocol; providers usually listen on 8888, "
                    "metrics on 8080.",
                )
            return answer.read_body(), exchange.origin

    def _fetch_records(self, seconds: float | None) -> RecordsAnswer:
        http, exchange = self._begin(seconds)
        with http.send(exchange, "GET", http.address.joined("records"), self._accept) as answer:
            if answer.status != 200:
                raise answer.refusal()
            body = answer.read_body()
            content_type = answer.shown_content_type
        return RecordsAnswer(body.data, content_type, exchange.elapsed)

    def _adjust_endpoints(self, endpoints: Sequence[Endpoint], seconds: float | None) -> tuple[Endpoint, ...]:
        body, origin = self._post("adjustendpoints", encode_endpoints(endpoints), seconds)
        try:
            return tuple(decode_endpoints_strict(body.data, max_items=self._limits.max_items))
        except WireError as exc:
            raise malformed(origin, "list of adjusted endpoints", exc) from exc

    def _post(self, segment: str, body: bytes, seconds: float | None) -> tuple[Body, str]:
        """A question with a body that changes nothing: the response's body, and where it came from."""
        http, exchange = self._begin(seconds)
        headers = self._accept | self._content_type
        with http.send(exchange, "POST", http.address.joined(segment), headers, body) as answer:
            if answer.status != 200:
                raise answer.refusal()
            return answer.read_body(), exchange.origin

    def _begin(self, seconds: float | None = None) -> tuple[BoundedHttp, Exchange]:
        if self._http is None:
            raise RuntimeError("This client is closed. Create another one.")
        exchange = self._http.begin()
        if seconds is not None:
            exchange.shorten(seconds)
        return self._http, exchange


def malformed(origin: str, what: str, error: WireError) -> MalformedAnswer:
    """The error for an answer that cannot be read."""
    return MalformedAnswer(
        f"{origin} sent a {what} that cannot be read: {safe_excerpt(str(error))}",
        hint="Report this to the maker of the provider. Nothing of the response was used.",
    )
