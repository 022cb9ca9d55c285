"""What a Kubernetes API answers in place of success, in our own words, with the way out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from providers.http.answer import Answer
from providers.http.errors import (
    FailedAtProvider,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    Redirected,
    RefusedByProvider,
    TooManyRequests,
    UnwelcomeStatus,
)
from providers.registries.kubernetes_object import read_texts
from providers.stores.kubernetes.json_values import decode_object
from providers.stores.kubernetes.question import Question
from providers.wire.strict_json import NotStrictJson

# A Status that quotes a whole invalid object is longer, and then shown as far as it goes.
_STATUS_BYTES = 16 * 1024
_REQUEST_TIMEOUT, _CONFLICT = 408, 409
# What a status means here, and the way out; `{question}` is what was asked.
_EXPLAINED: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        400: ("does not understand the request (400)", "Check the API's version, and any proxy in between."),
        401: (
            "does not accept the credentials (401)",
            "Check the token or the client certificate of this cluster: it may have expired.",
        ),
        405: ("has no way to {question} (405)", "Check the address: it must be the API itself."),
        409: (
            "refuses to {question} (409): another writer was first",
            "Read it again: it has the other writer's values now.",
        ),
        410: ("no longer has the list that was being read (410)", "The next sync reads it from the start."),
        413: (
            "refuses to {question} (413): the request is too large",
            "An object cannot be that large: keep fewer record sets in it.",
        ),
        422: (
            "refuses to {question} (422): the object is not valid to it",
            "What it said tells which field it does not take, or that the object is too large.",
        ),
        429: (
            "rejects requests because there were too many (429)",
            "Raise the sync interval of its providers.",
        ),
    }
)


class Conflict(NothingSent):
    """The API refused the write because another writer was first: the object is another by now, is gone, or
    exists already. Our write changed nothing; read again, compare, and decide anew."""

    code = "conflict"


class ListExpired(RefusedByProvider):
    """A list was not read on in time: the API has forgotten the moment it showed. It is read anew."""

    code = "list_expired"


class MissingObject(RefusedByProvider):
    """Just the object asked for is not there: not its namespace, nor its whole resource."""


_KINDS: Final = MappingProxyType({410: ListExpired, 429: TooManyRequests})
_KINDS_OF_HUNDREDS: Final = MappingProxyType({3: Redirected, 4: RefusedByProvider})


def build_error(origin: str, question: Question, answer: Answer) -> UnwelcomeStatus:
    """The error for an answer that is no success, one text for each status that means something here."""
    said, about = _read_said(answer)
    status = answer.status
    is_missing = status == 404 and bool(question.name) and about == (question.resource.plural, question.name)
    if status == 404:
        explained, hint = _explain_missing(question, about[0], is_missing=is_missing)
    else:
        explained, hint = _explain(question, status)
    told = f" It said: {said}" if said else ""
    kind = MissingObject if is_missing else _find_kind(status)
    return kind(
        f"The Kubernetes API at {origin} {explained}.{told}",
        status=status,
        hint=hint,
        retry_after=answer.retry_after,
    )


def explain_write(error: ProviderError, *, was_sent: bool) -> Conflict | NothingSent | OutcomeUnknown:
    """What a write that did not succeed has done.

    The API answers 4xx before it writes anything. 5xx, and a redirect by something in between, prove nothing.
    """
    if isinstance(error, MissingObject) or (isinstance(error, UnwelcomeStatus) and error.status == _CONFLICT):
        return Conflict(
            f"Nothing was written: {error}",
            reason=error,
            hint="Read what stands there now, and decide anew.",
        )
    is_refused = isinstance(error, RefusedByProvider) and error.status != _REQUEST_TIMEOUT
    if was_sent and not is_refused:
        return outcome_unknown(error)
    return NothingSent(
        f"Nothing was written: {error}",
        reason=error,
        hint=f"Nothing changed, so it may be tried again. {error.hint}".rstrip(),
    )


def outcome_unknown(reason: ProviderError) -> OutcomeUnknown:
    """The error for a write that may have been made."""
    return OutcomeUnknown(
        f"Whether it was written is unknown: {reason}",
        reason=reason,
        hint="Read what stands there before anything else; do not write it again unseen.",
    )


def _read_said(answer: Answer) -> tuple[str, tuple[str, str]]:
    """What an answer says of itself, fit to be shown, and the resource and the name that it speaks of."""
    data = answer.read_beginning(_STATUS_BYTES)
    try:
        told = decode_object(data)
    except NotStrictJson:
        told = {"message": data.decode("utf-8", errors="replace")}
    details, message = read_texts(told, "details"), told.get("message")
    said = answer.excerpt(message) if isinstance(message, str) else ""
    return said, (details.get("kind", ""), details.get("name", ""))


def _find_kind(status: int) -> type[UnwelcomeStatus]:
    if status >= 500:
        return FailedAtProvider
    return _KINDS.get(status) or _KINDS_OF_HUNDREDS.get(status // 100, UnwelcomeStatus)


def _explain(question: Question, status: int) -> tuple[str, str]:
    """What the API does, and the way out."""
    if status == 403:
        hint = (
            f"Give it a Role there with the verb {question.verb} on the resource {question.plural} of the "
            f'apiGroup "{question.resource.api_group}".'
        )
        return f"refuses (403): the account may not {question}", hint
    if status in _EXPLAINED:
        explained, hint = _EXPLAINED[status]
        return explained.format(question=question), hint
    if 300 <= status < 400:
        return (
            f"redirects to another address ({status}), which dnsadmin does not follow",
            "Give the address it really listens at.",
        )
    if status >= 500:
        return f"failed ({status}) when asked to {question}", "Look at the API server's log; it may recover."
    return f"answered {status} when asked to {question}", "Check the address: it must be the API itself."


def _explain_missing(question: Question, about: str, *, is_missing: bool) -> tuple[str, str]:
    if about == "namespaces":
        return (
            f"has no namespace {question.namespace} (404)",
            "Check the namespace of the registry profile, and that this is the cluster meant.",
        )
    if is_missing:
        return f"has no {question.resource.plural} {question.name} (404)", "It was deleted, or never there."
    if question.resource.api_group:
        definition = f"{question.resource.plural}.{question.resource.api_group}"
        return (
            f"knows no {question.resource.plural} (404)",
            f"Install the CustomResourceDefinition {definition}, and check the address.",
        )
    return f"knows no {question.resource.plural} (404)", "Check the address: it must be the API itself."
