"""A client of a Kubernetes API: a few kinds of objects, every answer bounded in time, size and number."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Self, TypeVar
from urllib.parse import urlencode

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import Credentials
from providers.http.errors import (
    InvalidAddress,
    MalformedAnswer,
    ProviderError,
    safe_excerpt,
)
from providers.registries.kubernetes_object import KubernetesObject, read_metadata
from providers.stores.kubernetes.objects import (
    Question,
    Resource,
    complete_object,
    decode_object,
    encode_object,
    read_page,
)
from providers.stores.kubernetes.refusals import CHECK_ADDRESS, Forbidden, build_error, build_write_error
from providers.wire.strict_json import NotStrictJson

_Read = TypeVar("_Read")

CONFIG_MAPS: Final = Resource("api/v1", "configmaps", "ConfigMap", page_size=25)  # of up to 1 MiB each
DNS_RECORDS: Final = Resource("apis/externaldns.k8s.io/v1alpha1", "dnsrecords", "DNSRecord")
_NAMESPACES: Final = Resource("api/v1", "namespaces", "Namespace")
_VERSION: Final = Resource("", "version", "Info")

# All pages of a list together: so many times the limit of one answer.
_BODIES_PER_LIST: Final = 4
_SUCCESSES: Final = (200, 201, 202)
_FORBIDDEN: Final = 403
_METHODS: Final = {"list": "GET", "get": "GET", "create": "POST", "update": "PUT", "delete": "DELETE"}
_JSON: Final = "application/json"


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
        self._name = f"Kubernetes API at {self._http.address.origin}"
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
        objects = self._list(Question("list", resource, namespace))
        if not objects:
            with suppress(Forbidden):
                self._ask(Question("get", _NAMESPACES, None, namespace), len)
        return objects

    def find_object(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object; None if there is none of that name. Raises ProviderError.

        Out of a list that has no other: an account may be allowed to list and not to get.
        """
        return next(iter(self._list(Question("list", resource, namespace, name))), None)

    def create(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Create an object, which names itself, and return it as it stands. Conflict if there is one."""
        question = Question("create", resource, namespace, read_metadata(obj, "name"))
        return self._ask(question, lambda body: complete_object(decode_object(body), question), obj)

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
        return self._ask(question, lambda body: complete_object(decode_object(body), question), obj)

    def delete(self, resource: Resource, namespace: str, obj: KubernetesObject) -> None:
        """Delete an object if it still is as it was read. Conflict if it is another by now, or gone."""
        name, version = (read_metadata(obj, key) for key in ("name", "resourceVersion"))
        if not version:
            raise ValueError("Without a resourceVersion whatever stands there would be deleted.")
        only_if: KubernetesObject = {"resourceVersion": version}
        options: KubernetesObject = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": only_if}
        self._ask(Question("delete", resource, namespace, name), len, options)

    def check(self) -> str:
        """The version the API says it has, for a connection test. Raises ProviderError."""
        version = self._ask(Question("get", _VERSION, None), decode_object).get("gitVersion")
        if not isinstance(version, str) or not version:
            raise MalformedAnswer(
                f"The {self._name} does not say its version as a Kubernetes API does.", hint=CHECK_ADDRESS
            )
        return safe_excerpt(version, self._secrets)

    def _list(self, question: Question) -> list[KubernetesObject]:
        client, limits = self.with_one_deadline(), self._http.limits
        objects: dict[str, KubernetesObject] = {}
        tokens, byte_count = [""], 0
        query = {"limit": str(question.resource.page_size)}
        if question.name:
            query["fieldSelector"] = f"metadata.name={question.name}"

        def add(body: bytes) -> None:
            nonlocal byte_count
            byte_count += len(body)
            page, token = read_page(question, body)
            for obj in page:
                if objects.setdefault(read_metadata(obj, "name"), obj) is not obj:
                    raise NotStrictJson("an object is in it twice")
            if token and token in tokens:
                raise NotStrictJson("it does not say how it goes on")
            tokens.append(token)

        while len(tokens) == 1 or tokens[-1]:
            query |= {"continue": tokens[-1]} if tokens[-1] else {}
            client._ask(question, add, query=query)  # noqa: SLF001 - as above
            if byte_count > _BODIES_PER_LIST * limits.max_body_bytes or len(objects) > limits.max_items:
                raise self._http.begin().too_large()
        return list(objects.values())

    def _ask(
        self,
        question: Question,
        read: Callable[[bytes], _Read],
        obj: KubernetesObject | None = None,
        *,
        query: Mapping[str, str] = MappingProxyType({}),
    ) -> _Read:
        """Send one request, once; what `read` finds in the success. With an object it is a write."""
        exchange = self._http.begin()
        exchange.shorten(max(0.0, self._ends_at - time.monotonic()))
        headers = {"Accept": _JSON} | ({"Content-Type": _JSON} if obj else {})
        try:
            url = self._http.address.joined(question.path) + (f"?{urlencode(query)}" if query else "")
            body = encode_object(obj) if obj else None
            with self._http.send(exchange, _METHODS[question.verb], url, headers, body) as answer:
                if answer.status not in _SUCCESSES:
                    raise build_error(self._name, question, answer)
                data = answer.read_body().data
            return read(data)
        except NotStrictJson as problem:
            error: ProviderError = MalformedAnswer(
                f"What the {self._name} answered to {question} was not used: {problem}.", hint=CHECK_ADDRESS
            )
        except ProviderError as failure:
            error = failure
        if obj:
            raise build_write_error(error, was_sent=exchange.began_sending) from error
        raise error
