"""The client of the webhook protocol, version 1: four calls, each bounded, each sent once."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from providers.http.address_policy import AddressPolicy
from providers.http.answer import Answer, Body
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import (
    MalformedAnswer,
    NotAWebhookProvider,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
)
from providers.http.exchange import Exchange
from providers.http.said import safe_excerpt
from providers.wire.domain_filter import ParsedFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_endpoints_strict, encode_endpoints
from providers.wire.media_type import WEBHOOK_MEDIA_TYPE

_ACCEPT = {"Accept": WEBHOOK_MEDIA_TYPE}
_CONTENT_TYPE = {"Content-Type": WEBHOOK_MEDIA_TYPE}


@dataclass(frozen=True)
class RecordsAnswer:
    """All a provider said about its records, not decoded yet: equal digests need no decoding.

    `content_type` is what it said, made safe to show; a wrong one is a finding, not a failure.
    `seconds` is how long the whole call took.
    """

    body: bytes
    digest: bytes
    content_type: str
    seconds: float

    @property
    def has_webhook_type(self) -> bool:
        """Whether the Content-Type is the one the protocol names."""
        return self.content_type == WEBHOOK_MEDIA_TYPE


class WebhookClient:
    """Speaks to one provider at `url`; every call raises a ProviderError when it does not succeed.

    Nothing is retried and no connection outlives its call, so one client may serve several threads.
    After `close`, or the `with` block, the credentials are dropped and no call is possible.
    """

    def __init__(
        self,
        url: str,
        *,
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._http: BoundedHttp | None = BoundedHttp(url, credentials, policy, limits)

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
        """Ask the bare URL for the domain filter.

        Raises NotAWebhookProvider when the answer is not of the protocol's media type.
        """
        http = self._open_http()
        exchange = http.begin()
        with http.send(exchange, "GET", http.address.base_url, _ACCEPT) as answer:
            if not 200 <= answer.status < 300:
                raise answer.refusal()
            if answer.content_type != WEBHOOK_MEDIA_TYPE:
                raise _not_a_webhook_provider(exchange, answer)
            body = answer.read_body()
        try:
            return parse_domain_filter(body.data)
        except WireError as exc:
            raise _malformed(exchange, "domain filter", exc) from exc

    def records(self) -> RecordsAnswer:
        """Fetch all records, undecoded."""
        http = self._open_http()
        exchange = http.begin()
        with http.send(exchange, "GET", http.address.joined("records"), _ACCEPT) as answer:
            body = _read_ok(answer)
            content_type = answer.shown_content_type
        return RecordsAnswer(body.data, body.digest, content_type, exchange.elapsed)

    def adjust_endpoints(self, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
        """Let the provider put endpoints into the form it would store; nothing changes there."""
        http = self._open_http()
        exchange = http.begin()
        url = http.address.joined("adjustendpoints")
        sent = encode_endpoints(endpoints)
        with http.send(exchange, "POST", url, _ACCEPT | _CONTENT_TYPE, sent) as answer:
            body = _read_ok(answer)
        try:
            return tuple(decode_endpoints_strict(body.data, max_items=http.limits.max_items))
        except WireError as exc:
            raise _malformed(exchange, "list of adjusted endpoints", exc) from exc

    def apply_changes(self, change_set_body: bytes) -> None:
        """Send exactly these bytes, once. Returning means the provider said success, which proves nothing.

        Raises NothingSent while not one byte had left, and OutcomeUnknown for everything after that,
        refusals included: some providers apply a part and then refuse.
        """
        http = self._open_http()
        exchange = http.begin()
        try:
            url = http.address.joined("records")
            with http.send(exchange, "POST", url, _CONTENT_TYPE, change_set_body) as answer:
                # 204 today; older builds and the first text of the protocol say any 20x.
                if not 200 <= answer.status < 210:
                    raise answer.refusal()
        except ProviderError as exc:
            raise _not_confirmed(exchange, exc) from exc

    def _open_http(self) -> BoundedHttp:
        if self._http is None:
            raise RuntimeError("This WebhookClient is closed; make another one.")
        return self._http


def _read_ok(answer: Answer) -> Body:
    if answer.status != 200:
        raise answer.refusal()
    return answer.read_body()


def _not_a_webhook_provider(exchange: Exchange, answer: Answer) -> NotAWebhookProvider:
    return NotAWebhookProvider(
        f"{exchange.origin} answers, but not as a webhook provider: "
        f"its Content-Type is {answer.shown_content_type!r}, not {WEBHOOK_MEDIA_TYPE!r}.",
        hint="Check the port and the path; the webhook usually listens on 8888, metrics on 8080.",
    )


def _malformed(exchange: Exchange, what: str, error: WireError) -> MalformedAnswer:
    return MalformedAnswer(
        f"{exchange.origin} sent a {what} that cannot be read: {safe_excerpt(str(error))}",
        hint="Report this to whoever makes the provider; nothing of the answer was used.",
    )


def _not_confirmed(exchange: Exchange, reason: ProviderError) -> NothingSent | OutcomeUnknown:
    if exchange.began_sending:
        return OutcomeUnknown(
            f"Whether the change was applied is unknown: {reason}",
            reason=reason,
            hint="Read the provider's records before anything else; do not send the change again unseen.",
        )
    return NothingSent(
        f"The change was not sent: {reason}",
        reason=reason,
        hint=f"Nothing changed, so it may be sent again. {reason.hint}".rstrip(),
    )
