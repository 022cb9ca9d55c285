"""The objects a Kubernetes API keeps: versions, conflicts, moments that a list reads on from, and events."""

import copy
import datetime as dt
import threading
import uuid
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object
from tests.kubernetes_api.status import ApiError, Event, bad_request, conflict, invalid, not_found
from tests.kubernetes_api.validation import raise_if_invalid, without_unknown

_MOST_EVENTS = 10_000


@dataclass(frozen=True)
class Kind:
    """One resource that the API serves."""

    api: str
    plural: str
    kind: str
    has_status: bool = False

    @property
    def api_version(self) -> str:
        return self.api.partition("/")[2]

    @property
    def group(self) -> str:
        return self.api_version.partition("/")[0] if "/" in self.api_version else ""


@dataclass
class Moment:
    """A list as it was when its first page was read."""

    version: int
    objects: list[KubernetesObject] = field(default_factory=list)


class ObjectStore:
    """Objects by resource, namespace and name. All that it gives and takes is copied."""

    def __init__(self, namespaces: Iterable[str]) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.namespaces = set(namespaces)
        self.version = 1000
        self.events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._objects: dict[tuple[str, str], dict[str, KubernetesObject]] = {}
        self._moments: dict[int, Moment] = {}

    def objects(self, plural: str, namespace: str) -> list[KubernetesObject]:
        with self.changed:
            return copy.deepcopy([each for _, each in sorted(self._at(plural, namespace).items())])

    def read(self, kind: Kind, namespace: str, name: str) -> KubernetesObject:
        with self.changed:
            held = self._at(kind.plural, namespace).get(name)
            if held is None:
                raise not_found(kind.plural, name)
            return copy.deepcopy(held)

    def create(self, kind: Kind, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        obj = self._accepted(kind, namespace, obj)
        name = read_metadata(obj, "name")
        with self.changed:
            if namespace not in self.namespaces:
                raise not_found("namespaces", namespace)
            if name in self._at(kind.plural, namespace):
                message = f'{kind.plural} "{name}" already exists'
                raise ApiError(409, "AlreadyExists", message, kind.plural, name)
            if read_metadata(obj, "resourceVersion"):
                raise bad_request("resourceVersion should not be set on objects to be created")
            if kind.has_status:
                obj.pop("status", None)
            now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            _set_metadata(obj, uid=str(uuid.uuid4()), creationTimestamp=now, namespace=namespace)
            return self._store("ADDED", kind, namespace, obj)

    def replace(
        self, kind: Kind, namespace: str, name: str, obj: KubernetesObject, *, is_status: bool = False
    ) -> KubernetesObject:
        obj = self._accepted(kind, namespace, obj)
        if read_metadata(obj, "name") != name:
            raise bad_request("the name of the object does not match the name on the URL")
        with self.changed:
            held = self.read(kind, namespace, name)
            self._raise_if_other_version(kind, held, obj)
            if is_status:
                obj = {**held, "status": obj.get("status")}
            elif kind.has_status:
                obj.pop("status", None)
                obj |= {"status": held["status"]} if "status" in held else {}
            if held.get("immutable") is True and obj.get("data") != held.get("data"):
                raise invalid(kind.kind, kind.plural, name, "data: Forbidden: field is immutable")
            metadata = read_object(held, "metadata")
            kept = {each: str(metadata[each]) for each in ("uid", "creationTimestamp", "resourceVersion")}
            _set_metadata(obj, **kept, namespace=namespace)
            return held if obj == held else self._store("MODIFIED", kind, namespace, obj)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, version: str
    ) -> KubernetesObject | None:
        """Delete an object; the object itself where finalizers keep it."""
        with self.changed:
            held = self.read(kind, namespace, name)
            for wanted, has in (
                (uid, read_metadata(held, "uid")),
                (version, read_metadata(held, "resourceVersion")),
            ):
                if wanted and wanted != has:
                    raise conflict(kind.plural, name)
            if read_object(held, "metadata").get("finalizers"):
                _set_metadata(held, deletionTimestamp="2026-01-01T00:00:00Z")
                return self._store("MODIFIED", kind, namespace, held)
            self.version += 1
            _set_metadata(held, resourceVersion=str(self.version))
            del self._at(kind.plural, namespace)[name]
            self._note(Event(self.version, "DELETED", kind.plural, namespace, held))
            return None

    def put(self, kind: Kind, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Another writer's object, whatever stands there; `status` is taken too. Its namespace is made."""
        with self.changed:
            self.namespaces.add(namespace)
            name = read_metadata(obj, "name")
            held = self._at(kind.plural, namespace).get(name)
            obj = copy.deepcopy({"apiVersion": kind.api_version, "kind": kind.kind, **obj})
            if held is None:
                _set_metadata(obj, resourceVersion="")
            made = self.create(kind, namespace, obj) if held is None else held
            own = read_object(made, "metadata")
            _set_metadata(obj, **{each: str(own[each]) for each in ("uid", "creationTimestamp", "namespace")})
            return self._store("MODIFIED", kind, namespace, obj)

    def begin_list(self, plural: str, namespace: str, name: str = "") -> int:
        """Keep this moment for the pages of one list, of all objects or of the one of a name; its number."""
        with self.changed:
            number = len(self._moments) + 1
            # Not copied: what is stored is never changed in place.
            held = [each for key, each in sorted(self._at(plural, namespace).items()) if name in ("", key)]
            self._moments[number] = Moment(self.version, held)
            return number

    def moment(self, number: int) -> Moment:
        with self.changed:
            found = self._moments.get(number)
            if found is None or not found.version:
                raise ApiError(
                    410, "Expired", "The provided continue parameter is too old to display a list."
                )
            return found

    def forget_moments(self) -> None:
        """Every list that is being read now has to be begun anew."""
        with self.changed:
            self._moments = {number: Moment(0) for number in self._moments}

    def _at(self, plural: str, namespace: str) -> dict[str, KubernetesObject]:
        return self._objects.setdefault((plural, namespace), {})

    def _accepted(self, kind: Kind, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        if (obj.get("apiVersion"), obj.get("kind")) != (kind.api_version, kind.kind):
            raise bad_request("the API version or the kind in the data does not match the expected one")
        raise_if_invalid(obj, kind.kind, kind.plural, namespace)
        return without_unknown(copy.deepcopy(obj), kind.kind)

    def _raise_if_other_version(self, kind: Kind, held: KubernetesObject, obj: KubernetesObject) -> None:
        name, version = read_metadata(obj, "name"), read_metadata(obj, "resourceVersion")
        if not version and kind.kind != "ConfigMap":
            raise invalid(
                kind.kind, kind.plural, name, "metadata.resourceVersion: must be specified for an update"
            )
        if version and not version.isdigit():
            raise invalid(kind.kind, kind.plural, name, "metadata.resourceVersion: Invalid value")
        if version and version != read_metadata(held, "resourceVersion"):
            raise conflict(kind.plural, name)
        if read_metadata(obj, "uid") not in ("", read_metadata(held, "uid")):
            raise conflict(kind.plural, name)

    def _store(self, event: str, kind: Kind, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        self.version += 1
        _set_metadata(obj, resourceVersion=str(self.version))
        self._at(kind.plural, namespace)[read_metadata(obj, "name")] = copy.deepcopy(obj)
        self._note(Event(self.version, event, kind.plural, namespace, copy.deepcopy(obj)))
        return obj

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self.changed.notify_all()


def _set_metadata(obj: KubernetesObject, **values: str) -> None:
    metadata = obj["metadata"]
    if isinstance(metadata, dict):
        metadata.update(values)
