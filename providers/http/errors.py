"""What can go wrong between us and a provider, in our own words.

Every error carries `code` (a stable slug for programs), `hint` (the way out, for people) and
`retry_after` (seconds the provider asked us to wait, if it did). No message holds a credential,
the user-info of a URL, or more than 200 printable characters of what the other side said.
"""

from collections.abc import Iterable
from typing import ClassVar

LONGEST_EXCERPT = 200
_TOO_MANY_REQUESTS = 429


class ProviderError(Exception):
    """Something between us and a provider failed; `str()` is one sentence a person can act on."""

    code: ClassVar[str] = "provider_error"

    def __init_subclass__(cls, *, code: str = "") -> None:
        if code:
            cls.code = code

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        # The message alone goes into args: an exception is rebuilt from them when it is pickled.
        super().__init__(message)
        self.hint = hint
        self.retry_after = retry_after


class InvalidAddress(ProviderError, code="invalid_address"):
    """The text is not a URL we are ready to connect to."""


class InvalidCredentials(ProviderError, code="invalid_credentials"):
    """The credentials cannot be used as they are: a broken certificate, a token with a line break."""


class AddressForbidden(ProviderError, code="address_forbidden"):
    """This deployment does not allow that scheme, host or network. It is raised before anything
    is dialed, and says the same whether something listens there or not."""


class Unreachable(ProviderError, code="unreachable"):
    """No HTTP answer came, from an address that we may connect to: the connection could not be made, or what
    came was not HTTP. What is known more exactly is one of the classes below."""


class ConnectionRefused(Unreachable, code="connection_refused"):
    """Nothing listens at that port."""


class NothingCameInTime(Unreachable, code="timed_out"):
    """The whole deadline passed before an HTTP answer began."""


class NameUnresolved(Unreachable, code="name_unresolved"):
    """The host name has no address."""


class TlsFailed(ProviderError, code="tls_failed"):
    """The other side's certificate was not accepted, or it did not accept ours."""


class DeadlineExceeded(ProviderError, code="deadline_exceeded"):
    """An HTTP answer began, and was not complete when the total deadline came."""


class AnswerTooLarge(ProviderError, code="answer_too_large"):
    """The answer's head or body is larger than we are ready to read."""


class AnswerTruncated(ProviderError, code="answer_truncated"):
    """The connection ended before the answer was complete."""


class MalformedAnswer(ProviderError, code="malformed_answer"):
    """The answer is not what the protocol says; it was not used."""


class CompressedAnswer(MalformedAnswer, code="compressed_answer"):
    """The body is compressed, which we asked the provider not to do; it was not unpacked."""


class NotAProvider(ProviderError, code="not_a_provider"):
    """Something answered that does not speak the protocol it was asked in."""


class UnwelcomeStatus(ProviderError, code="unwelcome_status"):
    """The provider answered with another status than success; `status` is that status."""

    def __init__(
        self, message: str, *, status: int = 0, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint, retry_after=retry_after)
        self.status = status


class RefusedByProvider(UnwelcomeStatus, code="refused_by_provider"):
    """The provider answered 4xx: it does not want this request."""


class TooManyRequests(RefusedByProvider, code="too_many_requests"):
    """The provider answered 429; `retry_after` holds the seconds it named, if it named any."""


class FailedAtProvider(UnwelcomeStatus, code="failed_at_provider"):
    """The provider answered 5xx: it, or the DNS service behind it, failed."""


class Redirected(UnwelcomeStatus, code="redirected"):
    """The provider answered 3xx. We never follow: the new place was not checked by anyone."""


def find_status_error(status: int) -> type[UnwelcomeStatus]:
    """What a status that is no success means."""
    if status == _TOO_MANY_REQUESTS:
        return TooManyRequests
    if status >= 500:
        return FailedAtProvider
    return {3: Redirected, 4: RefusedByProvider}.get(status // 100, UnwelcomeStatus)


class ChangeNotConfirmed(ProviderError, code="change_not_confirmed"):
    """A change set was not answered with success; `reason` is the error beneath."""

    def __init__(self, message: str, *, reason: ProviderError | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint, retry_after=reason.retry_after if reason else None)
        self.reason = reason


class NothingSent(ChangeNotConfirmed, code="nothing_sent"):
    """Not one byte of the change set left: nothing changed, and it may be sent again."""


class OutcomeUnknown(ChangeNotConfirmed, code="outcome_unknown"):
    """The change set, or part of it, left, and no success came back. It may have been applied in full,
    in part or not at all: read before doing anything else, never send it again before."""


def build_change_error(reason: ProviderError, *, was_sent: bool) -> NothingSent | OutcomeUnknown:
    """What `reason` means for a change. `was_sent`: it may have been made all the same."""
    if was_sent:
        return OutcomeUnknown(
            f"Whether the change was made is unknown: {reason}",
            reason=reason,
            hint="Read what is there first. Do not send the change again without that.",
        )
    return NothingSent(
        f"The change was not made: {reason}",
        reason=reason,
        hint=f"Nothing changed, so it may be sent again. {reason.hint}".rstrip(),
    )


def safe_excerpt(text: str, secrets: Iterable[str] = ()) -> str:
    """Return at most 200 printable characters of `text`, with every one of `secrets` blotted out.

    Secrets go first: a provider may well echo the credentials it did not like.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    # The slice bounds the work, twice the length allows for runs of white space that collapse.
    shown = "".join(c if c.isprintable() else " " for c in text[: 2 * LONGEST_EXCERPT])
    return " ".join(shown.split())[:LONGEST_EXCERPT]


def bare_url(url: str) -> str:
    """Return a URL somebody else wrote without its user-info, query and fragment."""
    place = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = place.partition("//")
    if not separator:
        return place
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority.rpartition('@')[2]}{slash}{path}"
