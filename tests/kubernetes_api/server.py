"""A Kubernetes API on loopback, as strict as the real one where this project meets it.

    with KubernetesApi() as api:
        api.put_object("configmaps", "external-dns", {"metadata": {"name": "blue-cluster-storage"}, ...})
        ...talk HTTP to api.url with api.token...
    assert api.objects("configmaps", "external-dns") == ...

`api.faults.plan("update /configmaps", faults.applied_then_reset())`: see `tests.kubernetes_api.faults`.
"""

import ssl
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.credentials import BearerLogin, Credentials
from providers.registries.kubernetes_object import KubernetesObject
from providers.stores.kubernetes.client import KubernetesClient
from tests.faults.history import History
from tests.kubernetes_api.application import KubernetesApplication
from tests.kubernetes_api.faults import KubernetesFaults
from tests.kubernetes_api.objects import Kind, ObjectStore
from tests.kubernetes_api.watches import Watches
from tests.servers.http_server import HttpServer

NAMESPACE = "external-dns"
_NAMESPACES = Kind("api/v1", "namespaces", "Namespace")
_CONFIG_MAPS = Kind("api/v1", "configmaps", "ConfigMap")
_DNS_RECORDS = Kind("apis/externaldns.k8s.io/v1alpha1", "dnsrecords", "DNSRecord", has_status=True)


class KubernetesApi:
    """One API for one test. `stop()` makes it refuse connections, `start()` brings it back.

    `has_crd=False`: the DNSRecord resource is not installed. All requests must carry `token`.
    """

    def __init__(
        self,
        *,
        namespaces: Iterable[str] = ("default", NAMESPACE),
        token: str = "dnsadmin-service-account-token",
        has_crd: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        kinds = [_NAMESPACES, _CONFIG_MAPS, *([_DNS_RECORDS] if has_crd else [])]
        self.token = token
        self.history = History()
        self.faults = KubernetesFaults(kinds)
        self._kinds = {kind.plural: kind for kind in kinds}
        self._store = ObjectStore(namespaces)
        self._application = KubernetesApplication(self._store, kinds, token)
        self._calm: HttpServer | None = None
        self._server = HttpServer(
            self._application,
            tls=tls,
            observers=(self.history,),
            faults=Watches(self._application, self._store, self.faults),
        )

    @property
    def watchers(self) -> list[Callable[[], None]]:
        """Called after each write that was made."""
        return self._application.watchers

    @property
    def url(self) -> str:
        """What a client is configured with."""
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def credentials(self) -> Credentials:
        return Credentials(login=BearerLogin(self.token))

    def client(
        self, limits: Limits | None = None, credentials: Credentials | None = None
    ) -> KubernetesClient:
        """A client of this API, with its token unless other credentials are given."""
        policy = AddressPolicy(allow_loopback=True)
        return KubernetesClient(
            self.url, credentials or self.credentials, policy, limits or Limits(seconds=10.0)
        )

    def calm_client(self) -> KubernetesClient:
        """A client of the same objects that meets no fault and leaves no trace in the history."""
        if self._calm is None:
            self._calm = HttpServer(self._application)
            self._calm.start()
        return KubernetesClient(self._calm.url, self.credentials, AddressPolicy(allow_loopback=True))

    def objects(self, plural: str, namespace: str = NAMESPACE) -> list[KubernetesObject]:
        """What is held now, by name."""
        return self._store.objects(plural, namespace)

    def read_object(self, plural: str, name: str, namespace: str = NAMESPACE) -> KubernetesObject:
        """One object as it is held now. Raises ApiError."""
        return self._store.read(self._kinds[plural], namespace, name)

    def put_object(self, plural: str, obj: KubernetesObject, namespace: str = NAMESPACE) -> KubernetesObject:
        """Write an object as another writer does, whatever stands there; its `status` too."""
        return self._store.put(self._kinds[plural], namespace, obj)

    def delete_object(self, plural: str, name: str, namespace: str = NAMESPACE) -> None:
        """Delete an object as another writer does. Raises ApiError."""
        self._store.delete(self._kinds[plural], namespace, name, uid="", version="")

    def forbid(self, verb: str, resource: str, namespace: str = NAMESPACE) -> None:
        """From now on the account may not: `forbid("update", "dnsrecords/status")`."""
        self._application.forbidden.add((verb, resource, namespace))

    def allow_all(self) -> None:
        """Forbid nothing any more."""
        self._application.forbidden.clear()

    def expire_lists(self) -> None:
        """Every list that is being read page by page has to be begun anew."""
        self._store.forget_moments()

    def writes(self) -> list[str]:
        """The writes so far, as `METHOD name status`, in order."""
        return [
            f"{each.method} {each.path.rpartition('/namespaces/')[2]} {each.status}"
            for each in self.history.settled()
            if each.method != "GET"
        ]

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        if self._calm is not None:
            self._calm.stop()
            self._calm = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
