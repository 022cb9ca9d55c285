"""What a Kubernetes API answers in place of success, in our own words, with the way out."""

from collections.abc import Mapping
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
from providers.stores.kubernetes.objects import decode_object
from providers.stores.kubernetes.question import Question
from providers.wire.strict_json import NotStrictJson

# A Status that quotes a whole invalid object is longer, and then shown as far as it goes.
_STATUS_BYTES = 16 * 1024
_REQUEST_TIMEOUT, _CONFLICT = 408, 409


class Conflict(NothingSent):
    """The API refused the write because another writer was first: the object is another by now, is gone, or
    exists already. Our write changed nothing; read again, compare, and decide anew."""

    code = "conflict"


class ListExpired(RefusedByProvider):
    """A list was not read on in time: the API has forgotten the moment it showed. It is read anew."""

    code = "list_expired"


class MissingObject(RefusedByProvider):
    """Just the object asked for is not there: not its namespace, nor its whole resource."""


_CHECK_ADDRESS: Final = "Check the address: it must be the API itself."
# What an answer means, by its status, by what is missing (404), or by the first digit of its status; and the
# way out. `{0}` is the question.
_MEANINGS: Final[Mapping[int | str, str]] = {
    400: "does not understand the request (400)",
    401: "does not accept the credentials (401)",
    403: "refuses (403): the account may not {0}",
    "namespace": "has no namespace {0.namespace} (404)",
    "object": "has no {0.resource.plural} {0.name} (404)",
    "definition": "knows no {0.resource.plural} (404)",
    "resource": "knows no {0.resource.plural} (404)",
    405: "has no way to {0} (405)",
    409: "refuses to {0} (409): another writer was first",
    410: "no longer has the list that was being read (410)",
    413: "refuses to {0} (413): the request is too large",
    422: "refuses to {0} (422): the object is not valid to it",
    429: "rejects requests because there were too many (429)",
    "3": "redirects to another address ({status}), which dnsadmin does not follow",
    "5": "failed ({status}) when asked to {0}",
}
_HINTS: Final[Mapping[int | str, str]] = {
    400: "Check the API's version, and any proxy in between.",
    401: "Check the token or the client certificate of this cluster: it may have expired.",
    403: "Give it a Role there with the verb {0.verb} on the resource {0.plural} of the apiGroup "
    '"{0.resource.api_group}".',
    "namespace": "Check the namespace of the registry profile, and that this is the cluster meant.",
    "object": "It was deleted, or never there.",
    "definition": "Install the CustomResourceDefinition {0.resource.plural}.{0.resource.api_group}, and "
    "check the address.",
    409: "Read it again: it has the other writer's values now.",
    410: "The next sync reads it from the start.",
    413: "An object cannot be that large: keep fewer record sets in it.",
    422: "What it said tells which field it does not take, or that the object is too large.",
    429: "Raise the sync interval of its providers.",
    "3": "Give the address it really listens at.",
    "5": "Look at the API server's log; it may recover.",
}
_KINDS: Final[Mapping[int | str, type[UnwelcomeStatus]]] = {
    "object": MissingObject,
    410: ListExpired,
    429: TooManyRequests,
    "3": Redirected,
    "4": RefusedByProvider,
    "5": FailedAtProvider,
}


def build_error(origin: str, question: Question, answer: Answer) -> UnwelcomeStatus:
    """The error for an answer that is no success."""
    data = answer.read_beginning(_STATUS_BYTES)
    try:
        body = decode_object(data)
    except NotStrictJson:
        body = {"message": data.decode("utf-8", errors="replace")}
    status, message = answer.status, body.get("message")
    said = f" It said: {answer.excerpt(message)}" if message and isinstance(message, str) else ""
    hundreds = str(min(status // 100, 5))
    found: int | str = _find_missing(question, read_texts(body, "details")) if status == 404 else status
    meaning = found if found in _MEANINGS else hundreds
    explained = _MEANINGS.get(meaning, "answered {status} when asked to {0}").format(question, status=status)
    return (_KINDS.get(meaning) or _KINDS.get(hundreds, UnwelcomeStatus))(
        f"The Kubernetes API at {origin} {explained}.{said}",
        status=status,
        hint=_HINTS.get(meaning, _CHECK_ADDRESS).format(question),
        retry_after=answer.retry_after,
    )


def build_write_error(error: ProviderError, *, was_sent: bool) -> Conflict | NothingSent | OutcomeUnknown:
    """What a write that did not succeed has done.

    The API answers 4xx before it writes anything. 5xx, and a redirect by something in between, prove nothing.
    """
    status = error.status if isinstance(error, RefusedByProvider) else 0
    if isinstance(error, MissingObject) or status == _CONFLICT:
        return Conflict(
            f"Nothing was written: {error}",
            reason=error,
            hint="Read what stands there now, and decide anew.",
        )
    if was_sent and status in (0, _REQUEST_TIMEOUT):
        return OutcomeUnknown(
            f"Whether it was written is unknown: {error}",
            reason=error,
            hint="Read what stands there before anything else; do not write it again unseen.",
        )
    return NothingSent(
        f"Nothing was written: {error}",
        reason=error,
        hint=f"Nothing changed, so it may be tried again. {error.hint}".rstrip(),
    )


def _find_missing(question: Question, details: Mapping[str, str]) -> str:
    """What a 404 is about: the object asked for, its namespace, or its whole resource."""
    if details.get("kind") == "namespaces":
        return "namespace"
    named = (details.get("kind"), details.get("name"))
    if question.name and named == (question.resource.plural, question.name):
        return "object"
    return "definition" if question.resource.api_group else "resource"
