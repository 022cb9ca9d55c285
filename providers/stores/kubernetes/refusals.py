"""What a Kubernetes API answers in place of success, in our own words, with the way out."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from providers.http.answer import Answer
from providers.http.errors import (
    FailedAtProvider,
    NothingSent,
    Redirected,
    RefusedByProvider,
    TooManyRequests,
    UnwelcomeStatus,
)
from providers.registries.kubernetes_object import read_object
from providers.stores.kubernetes.json_values import decode_object
from providers.wire.strict_json import NotStrictJson

# A Status that quotes a whole invalid object is longer, and then shown as far as it goes.
_STATUS_BYTES = 16 * 1024
# What a status means here, and the way out; `{question}` is what was asked.
_EXPLAINED: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        400: ("does not understand the request (400)", "Check the API's version, and any proxy in between."),
        401: (
            "does not know who asks (401)",
            "Check the token or the client certificate of this cluster: it may have expired.",
        ),
        405: ("has no way to {question} (405)", "Check the address: it must be the API itself."),
        409: (
            "refuses to {question} (409): another writer was first",
            "Read it again; what stands now is the other writer's.",
        ),
        410: ("has forgotten the list that was being read (410)", "The next visit reads it from the start."),
        413: (
            "refuses to {question} (413): the request is too large",
            "An object cannot grow that far; let fewer record sets stand in it.",
        ),
        422: (
            "refuses to {question} (422): the object is not valid to it",
            "What it said tells which field it does not take, or that the object is too large.",
        ),
        429: ("rejects requests because there were too many (429)", "Visit it less often."),
    }
)


class Conflict(NothingSent):
    """The API refused the write because another writer was first: the object is another by now, is gone, or
    exists already. Our write changed nothing; read again, compare, and decide anew."""

    code = "conflict"


class ListExpired(RefusedByProvider):
    """A list was not read on in time: the API has forgotten the moment it showed. It is read anew."""

    code = "list_expired"


@dataclass(frozen=True)
class Resource:
    """One kind of objects: the root of its API, its plural in paths, and its `kind` in the objects.

    `page_size`: how many are asked for at once, so that a page of large ones stays below a body's limit.
    """

    api: str
    plural: str
    kind: str
    page_size: int = 500

    @property
    def api_version(self) -> str:
        """What its objects say in `apiVersion`."""
        return self.api.partition("/")[2]

    @property
    def api_group(self) -> str:
        """What a Role says in `apiGroups`; empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


@dataclass(frozen=True)
class Question:
    """What was asked: a verb as a Role names it, and of what. `name` is empty for all objects."""

    verb: str
    resource: Resource
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def plural(self) -> str:
        """The resource as a Role names it."""
        return f"{self.resource.plural}{self.subresource}"

    def __str__(self) -> str:
        what = f"{self.plural} {self.name}".rstrip()
        return (
            f"{self.verb} {what} in namespace {self.namespace}" if self.namespace else f"{self.verb} {what}"
        )


@dataclass(frozen=True)
class Refusal:
    """An answer that is no success: its status, and what it says of itself as far as that can be read.

    `reason` is a word of the API's own, `about` and `name` are what it speaks of. `said` may be shown.
    """

    status: int
    said: str = ""
    reason: str = ""
    about: str = ""
    name: str = ""
    retry_after: float | None = None

    def is_missing_object(self, question: Question) -> bool:
        """Whether just the object asked for is not there: not its namespace, nor its whole resource."""
        return (
            self.status == 404
            and bool(question.name)
            and (self.about, self.name) == (question.resource.plural, question.name)
        )


def read_refusal(answer: Answer) -> Refusal:
    """What an answer says beside its status."""
    data = answer.read_said(_STATUS_BYTES)
    try:
        told = decode_object(data)
    except NotStrictJson:
        told = {"message": data.decode("utf-8", errors="replace")}
    details = read_object(told, "details")
    texts = (told.get("message"), told.get("reason"), details.get("kind"), details.get("name"))
    message, reason, about, name = (each if isinstance(each, str) else "" for each in texts)
    return Refusal(answer.status, answer.excerpt(message), reason, about, name, answer.retry_after)


def build_error(origin: str, question: Question, refusal: Refusal) -> UnwelcomeStatus:
    """The error for a refusal, one text for each status that means something of its own here."""
    told = f" It said: {refusal.said}" if refusal.said else ""
    explained, hint = _explain(question, refusal)
    message = f"The Kubernetes API at {origin} {explained}.{told}"
    status, retry_after = refusal.status, refusal.retry_after
    if 300 <= status < 400:
        return Redirected(message, status=status, hint=hint)
    if status == 429:
        return TooManyRequests(message, status=status, hint=hint, retry_after=retry_after)
    if status == 410:
        return ListExpired(message, status=status, hint=hint)
    if 400 <= status < 500:
        return RefusedByProvider(message, status=status, hint=hint, retry_after=retry_after)
    if status >= 500:
        return FailedAtProvider(message, status=status, hint=hint, retry_after=retry_after)
    return UnwelcomeStatus(message, status=status, hint=hint)


def _explain(question: Question, refusal: Refusal) -> tuple[str, str]:
    """What the API does, and the way out."""
    status = refusal.status
    if status == 403:
        return _explain_forbidden(question)
    if status == 404:
        return _explain_missing(question, refusal)
    if status in _EXPLAINED:
        explained, hint = _EXPLAINED[status]
        return explained.format(question=question), hint
    if 300 <= status < 400:
        return f"points elsewhere ({status}); we did not follow", "Give the address it really listens at."
    if status >= 500:
        return f"failed ({status}) when asked to {question}", "Look at the API server's log; it may recover."
    return f"answered {status} when asked to {question}", "Check the address: it must be the API itself."


def _explain_forbidden(question: Question) -> tuple[str, str]:
    way_out = (
        f"Give it a Role there with the verb {question.verb} on the resource {question.plural} of the "
        f'apiGroup "{question.resource.api_group}".'
    )
    return f"refuses (403): the account may not {question}", way_out


def _explain_missing(question: Question, refusal: Refusal) -> tuple[str, str]:
    if refusal.about == "namespaces":
        return (
            f"has no namespace {question.namespace} (404)",
            "Check the namespace of the registry profile, and that this is the cluster meant.",
        )
    if refusal.is_missing_object(question):
        return f"has no {question.resource.plural} {question.name} (404)", "It was deleted, or never there."
    if question.resource.api_group:
        definition = f"{question.resource.plural}.{question.resource.api_group}"
        return (
            f"knows no {question.resource.plural} (404)",
            f"Install the CustomResourceDefinition {definition}, and check the address.",
        )
    return f"knows no {question.resource.plural} (404)", "Check the address: it must be the API itself."
