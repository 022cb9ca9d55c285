"""What a Kubernetes API answers in place of success, with the way out."""

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
from providers.stores.kubernetes.objects import Question, decode_object
from providers.wire.strict_json import NotStrictJson

# A Status that quotes a whole invalid object is longer, and then shown as far as it goes.
_STATUS_BYTES = 16 * 1024
_FORBIDDEN, _NOT_FOUND, _REQUEST_TIMEOUT, _CONFLICT = 403, 404, 408, 409


class Conflict(NothingSent, code="conflict"):
    """The API refused the write because another writer was first: the object is another by now, is gone, or
    exists already. Our write changed nothing; read again, compare, and decide anew."""


class Forbidden(RefusedByProvider):
    """The account has no right to what was asked."""


class MissingObject(RefusedByProvider):
    """Just the object asked for is not there: not its namespace, nor its whole resource."""


CHECK_ADDRESS: Final = "Check the address: it must be the API itself, and not a proxy before it."
# The way out, by status. `{0}` is the question.
_HINTS: Final[Mapping[int, str]] = {
    401: "Check the token or the client certificate of this cluster: it may have expired.",
    403: "Give the account a Role there: verb {0.verb} on the resource {0.plural}, apiGroup "
    '"{0.resource.api_group}".',
    404: "Check the namespace of the registry profile, that this is the cluster meant, and that it has "
    "{0.resource.plural}.",
    410: "The next sync reads it from the start.",
    429: "Raise the sync interval of its providers.",
}


def build_error(api: str, question: Question, answer: Answer) -> UnwelcomeStatus:
    """The error for an answer that is no success."""
    data = answer.read_beginning(_STATUS_BYTES)
    try:
        body = decode_object(data)
    except NotStrictJson:
        body = {"message": data.decode("utf-8", errors="replace")}
    status, message, details = answer.status, body.get("message"), read_texts(body, "details")
    said = f" It said: {answer.excerpt(message)}" if message and isinstance(message, str) else ""
    error = Forbidden if status == _FORBIDDEN else find_status_error(status)
    named = (details.get("kind"), details.get("name"))
    if status == _NOT_FOUND and question.name and named == (question.resource.plural, question.name):
        error = MissingObject
    return error(
        f"The {api} responded with {status} when asked to {question}.{said}",
        status=status,
        hint=_HINTS.get(status, CHECK_ADDRESS).format(question),
        retry_after=answer.retry_after,
    )


def build_write_error(error: ProviderError, *, was_sent: bool) -> Conflict | NothingSent | OutcomeUnknown:
    """What a write that did not succeed has done.

    The API answers 4xx before it writes anything. 5xx, and a redirect by something in between, prove nothing.
    """
    status = error.status if isinstance(error, RefusedByProvider) else 0
    if isinstance(error, MissingObject) or status == _CONFLICT:
        hint = "Read what stands there now, and decide anew."
        return Conflict(
            f"Nothing was written, because another writer was first: {error}", reason=error, hint=hint
        )
    return build_change_error(error, was_sent=was_sent and status in (0, _REQUEST_TIMEOUT))
