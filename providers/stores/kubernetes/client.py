"""A client of a Kubernetes API: a few kinds of objects, every answer bounded in time, size and number."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Final, Self, TypeVar
from urllib.parse import urlencode

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import Credentials
from providers.http.errors import (
    AnswerTooLarge,
    InvalidAddress,
    MalformedAnswer,
    ProviderError,
    RefusedByProvider,
    safe_excerpt,
)
from providers.registries.kubernetes_object import KubernetesObject, read_metadata
from providers.stores.kubernetes.objects import (
    PARTIAL_LIST,
    Listing,
    encode_object,
    read_answer,
    read_git_version,
)
from providers.stores.kubernetes.question import Question, Resource
from providers.stores.kubernetes.refusals import (
    CHECK_ADDRESS,
    ListExpired,
    build_error,
    build_write_error,
)
from providers.wire.strict_json import NotStrictJson

_Read = TypeVar("_Read")

CONFIG_MAPS: Final = Resource("api/v1", "configmaps", "ConfigMap", page_size=25)  # of up to 1 MiB each
DNS_RECORDS: Final = Resource("apis/externaldns.k8s.io/v1alpha1", "dnsrecords", "DNSRecord")

# How often a list is begun at all: each time the API forgot the moment it showed, while it was read.
_MOST_BEGINNINGS: Final = 3
# All pages of a list together: so many times the limit of one answer.
_BODIES_PER_LIST: Final = 4
_NAMESPACES: Final = Resource("api/v1", "namespaces", "Namespace", is_namespaced=False)
_VERSION: Final = Resource("version", "version", "Info", is_namespaced=False)
_SUCCESSES: Final = (200, 201, 202)
_FORBIDDEN: Final = 403
_METHODS: Final = {"list": "GET", "get": "GET", "create": "POST", "update": "PUT", "delete": "DELETE"}
_JSON: Final = "application/json"
# An API that knows no partial objects sends whole ones.
_PARTIAL: Final = f"{_JSON};as={PARTIAL_LIST};g=meta.k8s.io;v=v1,{_JSON}"
_METADATA_PAGE: Final = 500


class KubernetesClient:
    """Objects of one Kubernetes API. Holds settings and no connection, so threads may share it.

    Every call may raise a ProviderError. A write raises one of three: NothingSent when it changed nothing
    (it never left, or the API answered that it refuses it); Conflict, one kind of that, when another writer
    was first; OutcomeUnknown when it left and no answer says how it ended. Nothing is retried.
    """

    def __init__(
        self, url: str, credentials: Credentials, policy: AddressPolicy, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._http = BoundedHttp(url, credentials, policy, limits, peer="Kubernetes API")
        if self._http.address.query:
            raise InvalidAddress(
                "This URL cannot be used for a Kubernetes API: it has a query.",
                hint="Write it as https://host:port, with the token in its own field.",
            )
        self._origin = self._http.address.origin
        self._secrets = credentials.secrets()
        self._ends_at = math.inf

    def with_one_deadline(self) -> Self:
        """A client of the same API, all of whose calls together take no longer than one may from now on."""
        client = copy.copy(self)
        ends_at = time.monotonic() + self._http.limits.seconds
        client._ends_at = min(self._ends_at, ends_at)  # noqa: SLF001 - a copy of ourselves
        return client

    def list_objects(self, resource: Resource, namespace: str) -> list[KubernetesObject]:
        """All objects of a namespace as they stood at one moment. Raises ProviderError.

        The deadline is that of one request, for all pages. The API shows a namespace that is not there as
        an empty one: before an empty list is accepted, the namespace itself is asked for. Where the account
        may not see it, an empty list is taken as it is.
        """
        return self._list(Question("list", resource, namespace))

    def list_metadata(self, resource: Resource, namespace: str) -> list[KubernetesObject]:
        """As `list_objects`, and with no other right: all objects, with their metadata alone."""
        return self._list(Question("list", resource, namespace), is_partial=True)

    def find_object(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object; None if there is none of that name. Raises ProviderError.

        Out of a list that has no other: an account may be allowed to list and not to get.
        """
        return next(iter(self._list(Question("list", resource, namespace, name))), None)

    def create(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Create an object, which names itself, and return it as it stands. Conflict if there is one."""
        question = Question("create", resource, namespace, read_metadata(obj, "name"))
        return self._ask(question, partial(read_answer, question), obj)

    def replace(
        self, resource: Resource, namespace: str, obj: KubernetesObject, *, subresource: str = ""
    ) -> KubernetesObject:
        """Write an object as a whole in place of the one whose `metadata.resourceVersion` it carries; or its
        `subresource` (`/status`), which is left as it is otherwise.

        Conflict if it is another by now, or gone.
        """
        if not read_metadata(obj, "resourceVersion"):
            raise ValueError("Without its resourceVersion an object would replace whatever stands there.")
        question = Question("update", resource, namespace, read_metadata(obj, "name"), subresource)
        return self._ask(question, partial(read_answer, question), obj)

    def delete(self, resource: Resource, namespace: str, name: str, *, resource_version: str) -> None:
        """Delete an object if it still is that version. Conflict if it is another by now, or gone."""
        if not resource_version:
            raise ValueError("Without a resourceVersion whatever stands there would be deleted.")
        options: KubernetesObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": resource_version},
        }
        self._ask(Question("delete", resource, namespace, name), len, options)

    def check(self) -> str:
        """The version the API says it has, for a connection test. Raises ProviderError."""
        return safe_excerpt(self._ask(Question("get", _VERSION, ""), read_git_version), self._secrets)

    def _list(self, question: Question, *, is_partial: bool = False) -> list[KubernetesObject]:
        client = self.with_one_deadline()
        for _ in range(_MOST_BEGINNINGS - 1):
            with suppress(ListExpired):
                return client._fetch_pages(Listing(question, is_partial))  # noqa: SLF001 - as above
        return client._fetch_pages(Listing(question, is_partial))  # noqa: SLF001

    def _fetch_pages(self, listing: Listing) -> list[KubernetesObject]:
        question = listing.question
        query = {"limit": str(_METADATA_PAGE if listing.is_partial else question.resource.page_size)}
        if question.name:
            query["fieldSelector"] = f"metadata.name={question.name}"
        accept = _PARTIAL if listing.is_partial else _JSON
        while not listing.tokens or listing.tokens[-1]:
            if listing.tokens:
                query["continue"] = listing.tokens[-1]
            self._ask(question, listing.add, query=query, accept=accept)
            reason = ""
            if listing.byte_count > _BODIES_PER_LIST * self._http.limits.max_body_bytes:
                reason = "takes more bytes than allowed in all"
            elif len(listing.objects) > self._http.limits.max_items:
                reason = f"has more than {self._http.limits.max_items} objects"
            if reason:
                raise AnswerTooLarge(
                    f"The list of {question.plural} in namespace {question.namespace} of the Kubernetes API "
                    f"at {self._origin} {reason}; it was not used.",
                    hint="Keep the registry in a namespace of its own, or raise the limits of the provider.",
                )
        if not listing.objects and not question.name:
            self._raise_if_missing(question.namespace)
        return list(listing.objects.values())

    def _raise_if_missing(self, namespace: str) -> None:
        try:
            self._ask(Question("get", _NAMESPACES, namespace, namespace), len)
        except RefusedByProvider as error:
            if error.status != _FORBIDDEN:
                raise

    def _ask(
        self,
        question: Question,
        read: Callable[[bytes], _Read],
        obj: KubernetesObject | None = None,
        *,
        query: Mapping[str, str] = MappingProxyType({}),
        accept: str = _JSON,
    ) -> _Read:
        """Send one request, once; what `read` finds in the body of the success. With an object it is a
        write."""
        exchange = self._http.begin()
        exchange.shorten(max(0.0, self._ends_at - time.monotonic()))
        headers = {"Accept": accept} | ({"Content-Type": _JSON} if obj else {})
        try:
            url = self._http.address.joined(question.path) + (f"?{urlencode(query)}" if query else "")
            body = encode_object(obj) if obj else None
            with self._http.send(exchange, _METHODS[question.verb], url, headers, body) as answer:
                if answer.status not in _SUCCESSES:
                    raise build_error(self._origin, question, answer)
                data = answer.read_body().data
            return read(data)
        except NotStrictJson as problem:
            error: ProviderError = MalformedAnswer(
                f"What the Kubernetes API at {self._origin} answered to {question} was not used: {problem}.",
                hint=CHECK_ADDRESS,
            )
        except ProviderError as failure:
            error = failure
        if obj:
            raise build_write_error(error, was_sent=exchange.began_sending) from error
        raise error
