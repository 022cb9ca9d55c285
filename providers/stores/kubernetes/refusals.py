"""What a Kubernetes API answers in place of success, in our own words, with the way out."""

from collections.abc import Mapping
from typing import Final

from providers.http.answer import Answer
from providers.http.errors import (
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    RefusedByProvider,
    UnwelcomeStatus,
    build_change_error,
    find_status_error,
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


CHECK_ADDRESS: Final = "Check the address: it must be the API itself."
_ANSWERED: Final = ("answered {1} when asked to {0}", CHECK_ADDRESS)
# What an answer means, and the way out: by its status, by what is missing (404), or by the first digit of its
# status. `{0}` is the question, `{1}` the status.
_MEANINGS: Final[Mapping[int | str, tuple[str, str]]] = {
    401: (
        "does not accept the credentials ({1})",
        "Check the token or the client certificate of this cluster: it may have expired.",
    ),
    403: (
        "refuses ({1}): the account may not {0}",
        'Give it a Role there: verb {0.verb} on the resource {0.plural}, apiGroup "{0.resource.api_group}".',
    ),
    "namespace": (
        "has no namespace {0.namespace} ({1})",
        "Check the namespace of the registry profile, and that this is the cluster meant.",
    ),
    "object": ("has no {0.resource.plural} {0.name} ({1})", "It was deleted, or never there."),
    "resource": ("knows no {0.resource.plural} ({1})", CHECK_ADDRESS),
    "definition": (
        "knows no {0.resource.plural} ({1})",
        "Check the address. The CustomResourceDefinition is {0.resource.plural}.{0.resource.api_group}.",
    ),
    409: (
        "refuses to {0} ({1}): another writer was first",
        "Read it again: it has the other writer's values now.",
    ),
    410: ("no longer has the list that was being read ({1})", "The next sync reads it from the start."),
    429: ("rejects requests because there were too many ({1})", "Raise the sync interval of its providers."),
    "3": (
        "redirects to another address ({1}), which dnsadmin does not follow",
        "Give the address it really listens at.",
    ),
    "4": (
        "refuses to {0} ({1})",
        "What it said tells why. Check the address, the API's version, and any proxy in between.",
    ),
    "5": ("failed ({1}) when asked to {0}", "Look at the API server's log; it may recover."),
}
_OWN_KINDS: Final[Mapping[int | str, type[UnwelcomeStatus]]] = {"object": MissingObject, 410: ListExpired}


def build_error(origin: str, question: Question, answer: Answer) -> UnwelcomeStatus:
    """The error for an answer that is no success."""
    data = answer.read_beginning(_STATUS_BYTES)
    try:
        body = decode_object(data)
    except NotStrictJson:
        body = {"message": data.decode("utf-8", errors="replace")}
    status, message = answer.status, body.get("message")
    said = f" It said: {answer.excerpt(message)}" if message and isinstance(message, str) else ""
    meaning: int | str = _find_missing(question, read_texts(body, "details")) if status == 404 else status
    words, hint = _MEANINGS.get(meaning) or _MEANINGS.get(str(min(status // 100, 5)), _ANSWERED)
    return _OWN_KINDS.get(meaning, find_status_error(status))(
        f"The Kubernetes API at {origin} {words.format(question, status)}.{said}",
        status=status,
        hint=hint.format(question),
        retry_after=answer.retry_after,
    )


def build_write_error(error: ProviderError, *, was_sent: bool) -> Conflict | NothingSent | OutcomeUnknown:
    """What a write that did not succeed has done.

    The API answers 4xx before it writes anything. 5xx, and a redirect by something in between, prove nothing.
    """
    status = error.status if isinstance(error, RefusedByProvider) else 0
    if isinstance(error, MissingObject) or status == _CONFLICT:
        hint = "Read what stands there now, and decide anew."
        return Conflict(f"Nothing was written: {error}", reason=error, hint=hint)
    return build_change_error(error, was_sent=was_sent and status in (0, _REQUEST_TIMEOUT))


def _find_missing(question: Question, details: Mapping[str, str]) -> str:
    """What a 404 is about: the object asked for, its namespace, or its whole resource."""
    if details.get("kind") == "namespaces":
        return "namespace"
    named = (details.get("kind"), details.get("name"))
    if question.name and named == (question.resource.plural, question.name):
        return "object"
    return "definition" if question.resource.api_group else "resource"
