"""What the calls of both protocols have in common: where they go, and how each is sent once."""

from collections.abc import Collection, Sequence

from providers.client.provider_client import RecordsAnswer
from providers.http.address_policy import AddressPolicy
from providers.http.answer import Body
from providers.http.bounded_http import BoundedHttp, Limits
from providers.http.credentials import Credentials
from providers.http.errors import (
    MalformedAnswer,
    NotAProvider,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    safe_excerpt,
)
from providers.http.exchange import Exchange
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_endpoints_strict, encode_endpoints


class Calls:
    """The calls to one provider in one media type. Every call may be given the seconds it has left."""

    def __init__(
        self, url: str, media_type: str, policy: AddressPolicy, credentials: Credentials, limits: Limits
    ) -> None:
        self._http: BoundedHttp | None = BoundedHttp(url, credentials, policy, limits)
        self._accept = {"Accept": media_type}
        self._content_type = {"Content-Type": media_type}
        self._media_type = media_type
        self.limits = limits

    def close(self) -> None:
        """Drop the credentials: no call is possible any more."""
        self._http = None

    def negotiate(
        self,
        protocol: str,
        seconds: float | None = None,
        *,
        successes: Collection[int] = range(200, 300),
        must_vary: bool = False,
    ) -> Body:
        """Ask the bare URL. Raises NotAProvider, naming `protocol`, unless the media type is given back; with
        `must_vary`, unless the answer says as well that it was chosen by it."""
        http, exchange = self._begin(seconds)
        with http.send(exchange, "GET", http.address.base_url, self._accept) as answer:
            if answer.status not in successes:
                raise answer.refusal()
            problem = ""
            if answer.content_type != self._media_type:
                problem = f"its Content-Type is {answer.shown_content_type!r}, not {self._media_type!r}"
            elif must_vary and not answer.varies_by("Content-Type"):
                problem = "its Vary header does not name Content-Type"
            if problem:
                raise NotAProvider(
                    f"{exchange.origin} responds, but not as a {protocol} provider: {problem}.",
                    hint="Check the port, the path and the protocol; providers usually listen on 8888, "
                    "metrics on 8080.",
                )
            return answer.read_body()

    def records(self, seconds: float | None = None) -> RecordsAnswer:
        """Fetch all records, undecoded."""
        http, exchange = self._begin(seconds)
        with http.send(exchange, "GET", http.address.joined("records"), self._accept) as answer:
            if answer.status != 200:
                raise answer.refusal()
            body = answer.read_body()
            content_type = answer.shown_content_type
        return RecordsAnswer(body.data, body.digest, content_type, exchange.elapsed)

    def adjust_endpoints(
        self, endpoints: Sequence[Endpoint], seconds: float | None = None
    ) -> tuple[Endpoint, ...]:
        """Endpoints out, endpoints back."""
        body, origin = self.post("adjustendpoints", encode_endpoints(endpoints), seconds)
        try:
            return tuple(decode_endpoints_strict(body.data, max_items=self.limits.max_items))
        except WireError as exc:
            raise malformed(origin, "list of adjusted endpoints", exc) from exc

    def post(self, segment: str, body: bytes, seconds: float | None = None) -> tuple[Body, str]:
        """A question with a body that changes nothing: the answer's body, and where it came from."""
        http, exchange = self._begin(seconds)
        headers = self._accept | self._content_type
        with http.send(exchange, "POST", http.address.joined(segment), headers, body) as answer:
            if answer.status != 200:
                raise answer.refusal()
            return answer.read_body(), exchange.origin

    def apply_changes(self, change_set_body: bytes, successes: Collection[int]) -> None:
        """Send exactly these bytes, once. Raises NothingSent or OutcomeUnknown."""
        http, exchange = self._begin()
        try:
            url = http.address.joined("records")
            with http.send(exchange, "POST", url, self._content_type, change_set_body) as answer:
                if answer.status not in successes:
                    raise answer.refusal()
        except ProviderError as exc:
            raise _not_confirmed(exchange, exc) from exc

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


def _not_confirmed(exchange: Exchange, reason: ProviderError) -> NothingSent | OutcomeUnknown:
    if exchange.began_sending:
        return OutcomeUnknown(
            f"Whether the change was applied is unknown: {reason}",
            reason=reason,
            hint="Read the provider's records first. Do not send the change again without that.",
        )
    return NothingSent(
        f"The change was not sent: {reason}",
        reason=reason,
        hint=f"Nothing changed, so it may be sent again. {reason.hint}".rstrip(),
    )
