"""The objects of one kind in one namespace, kept from one reading to the next for those who read often."""

from typing import Final

from providers.registries.kubernetes_object import KubernetesObject, read_metadata
from providers.stores.kubernetes.client import KubernetesClient
from providers.stores.kubernetes.question import Resource

# More than that, and all of them are read in fewer requests.
_MOST_CHANGED: Final = 12
# How often it is begun: each time something was written between two requests.
_MOST_BEGINNINGS: Final = 3


class RememberedObjects:
    """What stands unchanged is not fetched again, and is the same value as before. For one thread.

    Each reading asks for the versions of all objects as they stood at one moment, and then for the objects
    that are other versions than before. An object that was written again in between is another version than
    was named, and the moment is asked for anew. An object is only ever taken from a reading, never from the
    answer to a write.
    """

    def __init__(self, resource: Resource, namespace: str) -> None:
        self._resource = resource
        self._namespace = namespace
        self._known: dict[str, KubernetesObject] = {}

    def fetch(self, client: KubernetesClient) -> list[KubernetesObject]:
        """All objects as they stood at one moment. Raises as `KubernetesClient.list_objects`; the deadline
        is that of one request, for all of them."""
        client = client.with_one_deadline()
        objects = self._fetch_changed(client) if self._known else None
        if objects is None:
            objects = client.list_objects(self._resource, self._namespace)
        self._known = {read_metadata(obj, "name"): obj for obj in objects}
        return objects

    def _fetch_changed(self, client: KubernetesClient) -> list[KubernetesObject] | None:
        """The objects of one moment; None where it is better to read all of them."""
        for _ in range(_MOST_BEGINNINGS):
            shown = client.list_metadata(self._resource, self._namespace)
            versions = {read_metadata(obj, "name"): _read_version(obj) for obj in shown}
            changed = [name for name, version in versions.items() if not self._is_known(name, version)]
            if len(changed) > _MOST_CHANGED:
                return None
            for name in changed:
                obj = client.find_object(self._resource, self._namespace, name)
                if obj is not None:
                    self._known[name] = obj
            if all(self._is_known(name, versions[name]) for name in changed):
                return [self._known[name] for name in versions]
        return None

    def _is_known(self, name: str, version: tuple[str, str]) -> bool:
        return name in self._known and _read_version(self._known[name]) == version


def _read_version(obj: KubernetesObject) -> tuple[str, str]:
    """Which version of which object it is."""
    return read_metadata(obj, "uid"), read_metadata(obj, "resourceVersion")
