"""Requests to a Kubernetes API, answered as it answers them: who may, what is asked, and the outcome."""

import base64
import binascii
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import parse_qsl

from providers.registries.kubernetes_object import JsonValue, KubernetesObject, read_object
from providers.servers.wsgi_application import Answer, Request, RequiredCredential, WsgiApplication
from providers.stores.kubernetes.objects import decode_object, encode_object
from providers.wire.strict_json import NotStrictJson
from tests.kubernetes_api.objects import Kind, ObjectStore
from tests.kubernetes_api.status import (
    JSON_HEADERS,
    ApiError,
    bad_request,
    not_found,
    object_answer,
    page_not_found,
)

MOST_REQUEST_BYTES = 3 * 1024 * 1024
USER = "system:serviceaccount:external-dns:dnsadmin"
VERSION: KubernetesObject = {"major": "1", "minor": "34", "gitVersion": "v1.34.1", "platform": "linux/amd64"}
_KNOWN_PARAMETERS = {
    "limit",
    "continue",
    "watch",
    "resourceVersion",
    "timeoutSeconds",
    "fieldManager",
    "fieldSelector",
}
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}
_WRITING = ("POST", "PUT")


@dataclass(frozen=True)
class Route:
    """What a request is about. `name` is empty for the collection."""

    verb: str
    kind: Kind
    namespace: str
    name: str
    subresource: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


class KubernetesApplication(WsgiApplication):
    """Answers everything but watches. `forbidden` are (verb, resource, namespace) the account may not."""

    def __init__(self, store: ObjectStore, kinds: Collection[Kind], token: str) -> None:
        super().__init__()
        self.forbidden: set[tuple[str, str, str]] = set()
        self.watchers: list[Callable[[], None]] = []
        self._store = store
        self._kinds = kinds
        self._credential = RequiredCredential.bearer(token)

    def answer(self, request: Request) -> Answer:
        try:
            self._raise_if_unknown_account(request)
            answer = self._answer(request)
        except ApiError as error:
            return error.answer()
        if request.method != "GET":
            for watch in self.watchers:
                watch()
        return answer

    def find_watch(self, request: Request) -> Route | None:
        """The route of a request for a watch that may be followed."""
        if read_query(request).get("watch") not in ("1", "true"):
            return None
        route = find_route(request, self._kinds)
        if route is None or route.verb != "list":
            return None
        self._raise_if_unknown_account(request)
        self.raise_if_forbidden("watch", route)
        return route

    def raise_if_forbidden(self, verb: str, route: Route) -> None:
        if (verb, route.resource, route.namespace) not in self.forbidden:
            return
        plural, group = route.resource, route.kind.group
        where = f'in API group "{group}" in the namespace "{route.namespace}"'
        message = f'User "{USER}" cannot {verb} resource "{plural}" {where}'
        named = f'{plural} "{route.name}"' if route.name else plural
        raise ApiError(403, "Forbidden", f"{named} is forbidden: {message}", route.kind.plural, route.name)

    def _raise_if_unknown_account(self, request: Request) -> None:
        if not self._credential.is_carried_by(request):
            raise ApiError(401, "Unauthorized", "Unauthorized")

    def _answer(self, request: Request) -> Answer:
        if len(request.body) > MOST_REQUEST_BYTES:
            message = f"Request entity too large: limit is {MOST_REQUEST_BYTES}"
            raise ApiError(413, "RequestEntityTooLarge", message)
        if (request.method, request.path) == ("GET", "/version"):
            return object_answer(VERSION)
        route = find_route(request, self._kinds)
        if route is None:
            return page_not_found()
        unknown = read_query(request).keys() - _KNOWN_PARAMETERS
        if unknown:
            raise bad_request(f"nobody here asks with {sorted(unknown)}")
        self.raise_if_forbidden(route.verb, route)
        if route.kind.plural == "namespaces":
            return self._read_namespace(route.name)
        if request.method in _WRITING and request.headers.get("content-type") != "application/json":
            raise ApiError(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        return self._act(route, request)

    def _act(self, route: Route, request: Request) -> Answer:
        store, kind, namespace, name = self._store, route.kind, route.namespace, route.name
        if route.verb == "list":
            return self._list(route, read_query(request))
        if route.verb == "get":
            return object_answer(store.read(kind, namespace, name))
        body = _read_body(request)
        if route.verb == "create":
            return object_answer(store.create(kind, namespace, body), 201)
        if route.verb == "update":
            is_status = route.subresource == "status"
            return object_answer(store.replace(kind, namespace, name, body, is_status=is_status))
        wanted = read_object(body, "preconditions")
        uid, version = str(wanted.get("uid", "")), str(wanted.get("resourceVersion", ""))
        kept = store.delete(kind, namespace, name, uid=uid, version=version)
        return object_answer(kept or {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _read_namespace(self, name: str) -> Answer:
        if name not in self._store.namespaces:
            raise not_found("namespaces", name)
        return object_answer({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})

    def _list(self, route: Route, query: dict[str, str]) -> Answer:
        limit = query.get("limit", "0")
        if not limit.isdigit():
            raise bad_request("limit is no number")
        start, number = 0, 0
        if "continue" in query:
            number, start = _parse_token(query["continue"])
        else:
            name = _parse_selector(query.get("fieldSelector", ""))
            number = self._store.begin_list(route.kind.plural, route.namespace, name)
        moment = self._store.moment(number)
        end = start + int(limit) if int(limit) else len(moment.objects)
        metadata: dict[str, JsonValue] = {"resourceVersion": str(moment.version)}
        if end < len(moment.objects):
            metadata |= {
                "continue": _format_token(number, end),
                "remainingItemCount": len(moment.objects) - end,
            }
        items = [_as_item(each, route.kind) for each in moment.objects[start:end]]
        head: KubernetesObject = {"kind": f"{route.kind.kind}List", "apiVersion": route.kind.api_version}
        found: KubernetesObject = {**head, "metadata": metadata}
        return Answer(200, JSON_HEADERS, encode_object({**found, "items": [*items]}))


def find_route(request: Request, kinds: Collection[Kind]) -> Route | None:
    """What a request is about; None for a path or a method that the API does not know."""
    for kind in kinds:
        prefix = f"/{kind.api}/namespaces/"
        if not request.path.startswith(prefix):
            continue
        parts = request.path.removeprefix(prefix).split("/")
        if kind.plural == "namespaces" and len(parts) == 1 and request.method == "GET":
            return Route("get", kind, parts[0], parts[0])
        if len(parts) not in (2, 3, 4) or parts[1] != kind.plural or "" in parts:
            continue
        namespace, name = parts[0], parts[2] if len(parts) > 2 else ""
        if len(parts) == 4 and (parts[3] != "status" or not kind.has_status or request.method != "PUT"):
            continue
        verb = "list" if request.method == "GET" and not name else _VERBS.get(request.method, "")
        if not verb or (verb in ("list", "create")) == bool(name):
            return None
        return Route(verb, kind, namespace, name, parts[3] if len(parts) == 4 else "")
    return None


def read_query(request: Request) -> dict[str, str]:
    """The parameters of a request."""
    return dict(parse_qsl(request.query, keep_blank_values=True))


def _read_body(request: Request) -> KubernetesObject:
    try:
        return decode_object(request.body) if request.body else {}
    except NotStrictJson as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None


def _parse_selector(text: str) -> str:
    """The name that a field selector asks for; none for all objects."""
    field, equals, name = text.partition("=")
    if text and (field != "metadata.name" or not equals or not name):
        raise bad_request(f"field label not supported: {field}")
    return name.removeprefix("=")


def _as_item(obj: KubernetesObject, kind: Kind) -> KubernetesObject:
    """Lists of the core group leave kind and version out of their items; lists of custom resources do not."""
    if kind.group:
        return obj
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _format_token(number: int, start: int) -> str:
    # Not only letters and digits, as the API's own: a client has to escape it.
    return base64.b64encode(f"v=1 moment={number} start={start} ~?>".encode()).decode()


def _parse_token(text: str) -> tuple[int, int]:
    try:
        parts = dict(
            each.split("=") for each in base64.b64decode(text, validate=True).decode().split(" ")[:3]
        )
        return int(parts["moment"]), int(parts["start"])
    except (binascii.Error, ValueError, KeyError):
        raise bad_request("continue key is not valid") from None
