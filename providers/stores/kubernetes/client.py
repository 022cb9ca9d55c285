"""A client of a Kubernetes API: a few kinds of objects, every answer bounded in time, size and number."""

import copy
from dataclasses import dataclass
from typing import Final, Self

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, Limits
from providers.http.credentials import Credentials
from providers.http.errors import MalformedAnswer, safe_excerpt
from providers.registries.kubernetes_object import JsonValue, KubernetesObject, read_metadata
from providers.stores.kubernetes.calls import (
    InvalidObjectName,
    KubernetesCalls,
    Refused,
    not_sent,
    outcome_unknown,
    raise_if_no_namespace,
    raise_if_no_object_name,
)
from providers.stores.kubernetes.json_values import decode_object
from providers.stores.kubernetes.listing import PARTIAL_LIST, Listing, complete_object
from providers.stores.kubernetes.refusals import Conflict, ListExpired, Question, Resource
from providers.wire.strict_json import NotStrictJson

__all__ = [
    "CONFIG_MAPS",
    "DNS_RECORDS",
    "Conflict",
    "InvalidObjectName",
    "JsonValue",
    "KubernetesClient",
    "KubernetesObject",
    "ObjectVersion",
    "Resource",
    "read_version",
]

# What tells an object from all it ever was: its uid, and its resourceVersion.
ObjectVersion = tuple[str, str]

CONFIG_MAPS: Final = Resource("api/v1", "configmaps", "ConfigMap", page_size=25)  # of up to 1 MiB each
DNS_RECORDS: Final = Resource("apis/externaldns.k8s.io/v1alpha1", "dnsrecords", "DNSRecord")

# How often a list is begun at all: each time the API forgot the moment it showed, while it was read.
_MOST_BEGINNINGS = 3
_NAMESPACES = Resource("api/v1", "namespaces", "Namespace")
_VERSION = Resource("version", "version", "Info")
_FORBIDDEN = 403
_JSON: Final = "application/json"
# An API that knows no partial objects sends whole ones.
_PARTIAL: Final = f"{_JSON};as={PARTIAL_LIST};g=meta.k8s.io;v=v1,{_JSON}"
_METADATA_PAGE = 500


class KubernetesClient:
    """Objects of one Kubernetes API. Holds settings and no connection, so threads may share it.

    Every call may raise a ProviderError. A write raises one of three: NothingSent when it changed nothing
    (it never left, or the API answered that it refuses it); Conflict, one kind of that, when another writer
    was first; OutcomeUnknown when it left and no answer told how it ended. Nothing is retried.
    """

    def __init__(
        self, url: str, credentials: Credentials, policy: AddressPolicy, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._calls = KubernetesCalls(url, credentials, policy, limits)

    @property
    def limits(self) -> Limits:
        """How long one call may take, and how large its answer may be."""
        return self._calls.limits

    def within(self, seconds: float) -> Self:
        """A client of the same API, all of whose calls together take no longer than this from now on."""
        client = copy.copy(self)
        client._calls = self._calls.within(seconds)  # noqa: SLF001 - a copy of ourselves
        return client

    def list_objects(self, resource: Resource, namespace: str) -> list[KubernetesObject]:
        """All objects of a namespace as they stood at one moment. Raises ProviderError.

        The deadline is that of one request, for all pages. The API shows a namespace that is not there as
        an empty one: before an empty list is believed, the namespace itself is asked for. Where the account
        may not see it, an empty list is taken as it is.
        """
        raise_if_no_namespace(namespace)
        calls = self._calls.within(self.limits.seconds)
        objects = _list_anew(calls, _Wanted(resource, namespace, str(resource.page_size)))
        if not objects:
            _raise_if_namespace_missing(calls, namespace)
        return objects

    def list_versions(self, resource: Resource, namespace: str) -> dict[str, ObjectVersion]:
        """The versions of all objects of a namespace, by name, as they stood at one moment.

        As `list_objects` otherwise, and with no other right.
        """
        raise_if_no_namespace(namespace)
        calls = self._calls.within(self.limits.seconds)
        wanted = _Wanted(resource, namespace, str(_METADATA_PAGE), is_partial=True)
        objects = _list_anew(calls, wanted)
        if not objects:
            _raise_if_namespace_missing(calls, namespace)
        return {read_metadata(obj, "name"): read_version(obj) for obj in objects}

    def find_listed(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object out of a list that holds no other; None if there is none of that name.

        For accounts that may list and not get. Raises ProviderError.
        """
        raise_if_no_namespace(namespace)
        raise_if_no_object_name(name)
        calls = self._calls.within(self.limits.seconds)
        wanted = _Wanted(resource, namespace, "2", name)
        found = _list_anew(calls, wanted)
        return next((obj for obj in found if read_metadata(obj, "name") == name), None)

    def read(self, resource: Resource, namespace: str, name: str) -> KubernetesObject | None:
        """One object; None if there is none of that name. Raises ProviderError."""
        raise_if_no_namespace(namespace)
        raise_if_no_object_name(name)
        question = Question("get", resource, namespace, name)
        try:
            body = self._calls.fetch(_path(resource, namespace, name))
        except Refused as refused:
            if refused.refusal.is_missing_object(question):
                return None
            raise self._calls.build_error(question, refused.refusal) from None
        return self._read_object(body, question)

    def create(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Create an object, which names itself, and return it as it stands. Conflict if there is one."""
        question = _begin_write("create", resource, namespace, read_metadata(obj, "name"))
        return self._written(question, "POST", _path(resource, namespace), obj)

    def replace(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Write an object as a whole in place of the one whose `metadata.resourceVersion` it carries.

        Conflict if it is another by now, or gone.
        """
        return self._replace(resource, namespace, obj, "")

    def replace_status(self, resource: Resource, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Write the `status` of an object, which `replace` leaves as it is. As `replace` otherwise."""
        return self._replace(resource, namespace, obj, "/status")

    def delete(self, resource: Resource, namespace: str, name: str, *, resource_version: str) -> None:
        """Delete an object if it still is that version. Conflict if it is another by now, or gone."""
        question = _begin_write("delete", resource, namespace, name)
        if not resource_version:
            raise ValueError("Without a resourceVersion whatever stands there would be deleted.")
        options: KubernetesObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": resource_version},
        }
        self._calls.send(question, "DELETE", _path(resource, namespace, name), options)

    def check(self) -> str:
        """The version the API says it has, for a connection test. Raises ProviderError."""
        try:
            body = self._calls.fetch("version")
        except Refused as refused:
            raise self._calls.build_error(Question("get", _VERSION, ""), refused.refusal) from None
        try:
            version = decode_object(body).get("gitVersion")
        except NotStrictJson:
            version = None
        if not isinstance(version, str) or not version:
            raise self._malformed("does not say its version as a Kubernetes API does")
        return safe_excerpt(version, self._calls.secrets)

    def _replace(
        self, resource: Resource, namespace: str, obj: KubernetesObject, subresource: str
    ) -> KubernetesObject:
        name = read_metadata(obj, "name")
        question = _begin_write("update", resource, namespace, name, subresource)
        if not read_metadata(obj, "resourceVersion"):
            raise ValueError("Without its resourceVersion an object would replace whatever stands there.")
        return self._written(question, "PUT", f"{_path(resource, namespace, name)}{subresource}", obj)

    def _written(self, question: Question, method: str, path: str, obj: KubernetesObject) -> KubernetesObject:
        body = self._calls.send(question, method, path, obj)
        try:
            return self._read_object(body, question)
        except MalformedAnswer as error:
            raise outcome_unknown(error) from error

    def _read_object(self, body: bytes, question: Question) -> KubernetesObject:
        try:
            found = complete_object(decode_object(body), question.resource, question.namespace)
        except NotStrictJson as error:
            raise self._malformed(f"sent an object that cannot be read ({error})") from None
        if found is None or read_metadata(found, "name") != question.name:
            raise self._malformed(f"sent something else than the {question.resource.kind} asked for")
        return found

    def _malformed(self, what: str) -> MalformedAnswer:
        return MalformedAnswer(
            f"The Kubernetes API at {self._calls.origin} {what}; it was not used.",
            hint="Check the address: it must be the API itself.",
        )


def read_version(obj: KubernetesObject) -> ObjectVersion:
    """Which version of which object it is."""
    return read_metadata(obj, "uid"), read_metadata(obj, "resourceVersion")


@dataclass(frozen=True)
class _Wanted:
    """What a list is asked for; with a `name`, that object alone."""

    resource: Resource
    namespace: str
    page_size: str
    name: str = ""
    is_partial: bool = False


def _list_anew(calls: KubernetesCalls, wanted: _Wanted) -> list[KubernetesObject]:
    for _ in range(_MOST_BEGINNINGS - 1):
        try:
            return _list_once(calls, wanted)
        except ListExpired:
            continue
    return _list_once(calls, wanted)


def _list_once(calls: KubernetesCalls, wanted: _Wanted) -> list[KubernetesObject]:
    resource, namespace = wanted.resource, wanted.namespace
    listing = Listing(calls.origin, resource, namespace, calls.limits, is_partial=wanted.is_partial)
    query = {"limit": wanted.page_size}
    if wanted.name:
        query["fieldSelector"] = f"metadata.name={wanted.name}"
    accept = _PARTIAL if wanted.is_partial else _JSON
    while True:
        try:
            page = calls.fetch(_path(resource, namespace), query, accept=accept)
        except Refused as refused:
            raise calls.build_error(Question("list", resource, namespace), refused.refusal) from None
        token = listing.add_page(page)
        if not token:
            return listing.objects
        query["continue"] = token


def _raise_if_namespace_missing(calls: KubernetesCalls, namespace: str) -> None:
    try:
        calls.fetch(f"{_NAMESPACES.api}/{_NAMESPACES.plural}/{namespace}")
    except Refused as refused:
        if refused.refusal.status == _FORBIDDEN:
            return
        question = Question("get", _NAMESPACES, namespace, namespace)
        raise calls.build_error(question, refused.refusal) from None


def _path(resource: Resource, namespace: str, name: str = "") -> str:
    place = f"{resource.api}/namespaces/{namespace}/{resource.plural}"
    return f"{place}/{name}" if name else place


def _begin_write(verb: str, resource: Resource, namespace: str, name: str, subresource: str = "") -> Question:
    """The question of a write, its names checked. Raises NothingSent."""
    try:
        raise_if_no_namespace(namespace)
        raise_if_no_object_name(name)
    except InvalidObjectName as error:
        raise not_sent(error) from error
    return Question(verb, resource, namespace, name, subresource)
