"""A client of a Kubernetes API: a few kinds of objects, every answer bounded in time, size and number."""

import copy
import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Self
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
    complete_object,
    decode_object,
    encode_object,
    read_page,
)
from providers.stores.kubernetes.question import Question, Resource
from providers.stores.kubernetes.refusals import (
    ListExpired,
    MissingObject,
    build_error,
    build_write_error,
)
from providers.wire.strict_json import NotStrictJson

# Which version of which object: its uid, and its resourceVersion.
ObjectVersion = tuple[str, str]

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

    @property
    def limits(self) -> Limits:
        """How long one call may take, and how large its answer may be."""
        return self._http.limits

    def within(self, seconds: float) -> Self:
        """A client of the same API, all of whose calls together take no longer than this from now on."""
        client = copy.copy(self)
        client._ends_at = min(self._ends_at, time.monotonic() + seconds)  # noqa: SLF001 - a copy of ourselves
        return client

    def list_objects(self, resource: Resource, namespace: str) -> list[KubernetesObject]:
        """All objects of a namespace as they stood at one moment. Raises ProviderError.

        The deadline is that of one request, for all pages. The API shows a namespace that is not there as
        an empty one: before an empty list is accepted, the namespace itself is asked for. Where the account
        may not see it, an empty list is taken as it is.
        """
        return self._list(resource, namespace, {"limit": str(resource.page_size)})

    def list_versions(self, resource: Resource, namespace: str) -> dict[str, ObjectVersion]:
        """The versions of all objects of a namespace, by name, as they stood at one moment.

        As `list_objects` otherwise, and with no other right.
        """
        objects = self._list(resource, namespace, {"limit": str(_METADATA_PAGE)}, is_partial=True)
        return {read_metadata(obj, "name"): read_version(obj) for obj in objects}

    def find_listed(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object out of a list that has no other; None if there is none of that name.

        For accounts that may list and not get. Raises ProviderError.
        """
        query = {"limit": "2", "fieldSelector": f"metadata.name={name}"}
        found = self._list(resource, namespace, query)
        return next((obj for obj in found if read_metadata(obj, "name") == name), None)

    def read(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object; None if there is none of that name. Raises ProviderError."""
        question = Question("get", resource, namespace, name)
        try:
            return self._read_object(self._ask(question), question)
        except MissingObject:
            return None

    def create(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Create an object, which names itself, and return it as it stands. Conflict if there is one."""
        return self._write(Question("create", resource, namespace, read_metadata(obj, "name")), obj)

    def replace(
        self, resource: Resource, namespace: str, obj: KubernetesObject, *, subresource: str = ""
    ) -> KubernetesObject:
        """Write an object as a whole in place of the one whose `metadata.resourceVersion` it carries.

        Conflict if it is another by now, or gone.
        """
        if not read_metadata(obj, "resourceVersion"):
            raise ValueError("Without its resourceVersion an object would replace whatever stands there.")
        name = read_metadata(obj, "name")
        return self._write(Question("update", resource, namespace, name, subresource), obj)

    def replace_status(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Write the `status` of an object, which `replace` leaves as it is. As `replace` otherwise."""
        return self.replace(resource, namespace, obj, subresource="/status")

    def delete(self, resource: Resource, namespace: str, name: str, *, resource_version: str) -> None:
        """Delete an object if it still is that version. Conflict if it is another by now, or gone."""
        if not resource_version:
            raise ValueError("Without a resourceVersion whatever stands there would be deleted.")
        options: KubernetesObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": resource_version},
        }
        self._ask(Question("delete", resource, namespace, name), options)

    def check(self) -> str:
        """The version the API says it has, for a connection test. Raises ProviderError."""
        body = self._ask(Question("get", _VERSION, ""))
        try:
            version = decode_object(body).get("gitVersion")
        except NotStrictJson:
            version = None
        if not isinstance(version, str) or not version:
            raise self._malformed("does not say its version as a Kubernetes API does")
        return safe_excerpt(version, self._secrets)

    def _list(
        self, resource: Resource, namespace: str, query: dict[str, str], *, is_partial: bool = False
    ) -> list[KubernetesObject]:
        question = Question("list", resource, namespace)
        client = self.within(self.limits.seconds)
        for beginning in range(_MOST_BEGINNINGS):
            try:
                objects = client._fetch_pages(question, query, is_partial=is_partial)  # noqa: SLF001
                break
            except ListExpired:
                if beginning == _MOST_BEGINNINGS - 1:
                    raise
        if not objects and "fieldSelector" not in query:
            try:
                client._ask(Question("get", _NAMESPACES, namespace, namespace))  # noqa: SLF001
            except RefusedByProvider as error:
                if error.status != _FORBIDDEN:
                    raise
        return objects

    def _fetch_pages(
        self, question: Question, query: dict[str, str], *, is_partial: bool
    ) -> list[KubernetesObject]:
        objects: dict[str, KubernetesObject] = {}
        tokens: list[str] = []
        bytes_left = _BODIES_PER_LIST * self.limits.max_body_bytes
        while not tokens or tokens[-1]:
            more = {"continue": tokens[-1]} if tokens else {}
            page = self._ask(question, query={**query, **more}, accept=_PARTIAL if is_partial else _JSON)
            bytes_left -= len(page)
            if bytes_left < 0:
                raise self._too_large(question, "takes more bytes than allowed in all")
            try:
                token = read_page(page, question, objects, is_partial=is_partial)
                if token in tokens:
                    raise NotStrictJson("it does not say how it goes on")
            except NotStrictJson as error:
                raise self._malformed(
                    f"sent a list of {question.plural} that cannot be used: {error}"
                ) from None
            if len(objects) > self.limits.max_items:
                raise self._too_large(question, f"has more than {self.limits.max_items} objects")
            tokens.append(token)
        return list(objects.values())

    def _write(self, question: Question, obj: KubernetesObject) -> KubernetesObject:
        body = self._ask(question, obj)
        try:
            return self._read_object(body, question)
        except MalformedAnswer as error:
            raise build_write_error(error, was_sent=True) from error

    def _ask(
        self,
        question: Question,
        obj: KubernetesObject | None = None,
        *,
        query: Mapping[str, str] = MappingProxyType({}),
        accept: str = _JSON,
    ) -> bytes:
        """Send one request, once; the body of the success. With an object it is a write."""
        exchange = self._http.begin()
        exchange.shorten(max(0.0, self._ends_at - time.monotonic()))
        headers = {"Accept": accept} | ({"Content-Type": _JSON} if obj else {})
        try:
            url = self._http.address.joined(question.path) + (f"?{urlencode(query)}" if query else "")
            body = encode_object(obj) if obj else None
            with self._http.send(exchange, _METHODS[question.verb], url, headers, body) as answer:
                if answer.status not in _SUCCESSES:
                    raise build_error(self._origin, question, answer)
                return answer.read_body().data
        except ProviderError as error:
            if not obj:
                raise
            raise build_write_error(error, was_sent=exchange.began_sending) from error

    def _read_object(self, body: bytes, question: Question) -> KubernetesObject:
        try:
            found = complete_object(decode_object(body), question)
        except NotStrictJson as error:
            raise self._malformed(f"sent an object that cannot be read ({error})") from None
        if found is None or read_metadata(found, "name") != question.name:
            raise self._malformed(f"sent something else than the {question.resource.kind} asked for")
        return found

    def _malformed(self, what: str) -> MalformedAnswer:
        return MalformedAnswer(
            f"The Kubernetes API at {self._origin} {what}; it was not used.",
            hint="Check the address: it must be the API itself. Nothing of the response was used.",
        )

    def _too_large(self, question: Question, reason: str) -> AnswerTooLarge:
        return AnswerTooLarge(
            f"The list of {question.plural} in namespace {question.namespace} of the Kubernetes API at "
            f"{self._origin} {reason}; it was not used.",
            hint="Keep the registry in a namespace of its own, or raise the limits of the provider.",
        )


def read_version(obj: KubernetesObject) -> ObjectVersion:
    """Which version of which object it is."""
    return read_metadata(obj, "uid"), read_metadata(obj, "resourceVersion")
