"""What can go wrong between us and a provider, in our own words.

Every error carries `code` (a stable slug for programs), `hint` (the way out, for people) and
`retry_after` (seconds the provider asked us to wait, if it did). No message holds a credential,
the user-info of a URL, or more than 200 printable characters of what the other side said.
"""

from collections.abc import Iterable
from typing import ClassVar

LONGEST_EXCERPT = 200


class ProviderError(Exception):
    """Something between us and a provider failed; `str()` is one sentence a person can act on."""

    code: ClassVar[str] = "provider_error"

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        # The message alone goes into args: an exception is rebuilt from them when it is pickled.
        super().__init__(message)
        self.hint = hint
        self.retry_after = retry_after


class InvalidAddress(ProviderError):
    """The text is not a URL we are ready to connect to."""

    code = "invalid_address"


class InvalidCredentials(ProviderError):
    """The credentials cannot be used as they are: a broken certificate, a token with a line break."""

    code = "invalid_credentials"


class AddressForbidden(ProviderError):
    """This deployment does not allow that scheme, host or network. It is raised before anything
    is dialed, and says the same whether something listens there or not."""

    code = "address_forbidden"


class Unreachable(ProviderError):
    """No HTTP answer came, from an address that we may connect to: the connection could not be made, or what
    came was not HTTP. What is known more exactly is one of the classes below."""

    code = "unreachable"


class ConnectionRefused(Unreachable):
    """Nothing listens at that port."""

    code = "connection_refused"


class NothingCameInTime(Unreachable):
    """The whole deadline passed before an HTTP answer began."""

    code = "timed_out"


class NameUnresolved(Unreachable):
    """The host name has no address."""

    code = "name_unresolved"


class TlsFailed(ProviderError):
    """The other side's certificate was not accepted, or it did not accept ours."""

    code = "tls_failed"


class DeadlineExceeded(ProviderError):
    """An HTTP answer began, and was not complete when the total deadline came."""

    code = "deadline_exceeded"


class AnswerTooLarge(ProviderError):
    """The answer's head or body is larger than we are ready to read."""

    code = "answer_too_large"


class AnswerTruncated(ProviderError):
    """The connection ended before the answer was complete."""

    code = "answer_truncated"


class MalformedAnswer(ProviderError):
    """The answer is not what the protocol says; it was not used."""

    code = "malformed_answer"


class CompressedAnswer(MalformedAnswer):
    """The body is compressed, which we asked the provider not to do; it was not unpacked."""

    code = "compressed_answer"


class NotAProvider(ProviderError):
    """Something answered that does not speak the protocol it was asked in."""

    code = "not_a_provider"


class UnwelcomeStatus(ProviderError):
    """The provider answered with another status than success; `status` is that status."""

    code = "unwelcome_status"

    def __init__(
        self, message: str, *, status: int = 0, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint, retry_after=retry_after)
        self.status = status


class RefusedByProvider(UnwelcomeStatus):
    """The provider answered 4xx: it does not want this request."""

    code = "refused_by_provider"


class TooManyRequests(RefusedByProvider):
    """The provider answered 429; `retry_after` holds the seconds it named, if it named any."""

    code = "too_many_requests"


class FailedAtProvider(UnwelcomeStatus):
    """The provider answered 5xx: it, or the DNS service behind it, failed."""

    code = "failed_at_provider"


class Redirected(UnwelcomeStatus):
    """The provider answered 3xx. We never follow: the new place was not checked by anyone."""

    code = "redirected"


class ChangeNotConfirmed(ProviderError):
    """A change set was not answered with success; `reason` is the error beneath."""

    code = "change_not_confirmed"

    def __init__(self, message: str, *, reason: ProviderError | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint, retry_after=reason.retry_after if reason else None)
        self.reason = reason


class NothingSent(ChangeNotConfirmed):
    """Not one byte of the change set left: nothing changed, and it may be sent again."""

    code = "nothing_sent"


class OutcomeUnknown(ChangeNotConfirmed):
    """The change set, or part of it, left, and no success came back. It may have been applied in full,
    in part or not at all: look before doing anything, never send it again unseen."""

    code = "outcome_unknown"


def safe_excerpt(text: str, secrets: Iterable[str] = ()) -> str:
    """Return at most 200 printable characters of `text`, with every one of `secrets` blotted out.

    Secrets go first: a provider may well echo the credentials it did not like.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    # The slice bounds the work, twice the length leaves room for runs of white space that collapse.
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
