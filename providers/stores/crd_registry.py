"""The CRD registry: `DNSRecord` objects of one namespace as a store, written only if they are as read."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from providers.http.errors import ChangeNotConfirmed, NothingSent, OutcomeUnknown
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object, read_texts
from providers.registries.stored_claim import (
    StoredClaim,
    StoredClaimChange,
    StoreReading,
    compute_claims_digest,
    compute_digest,
)
from providers.stores.dns_record_object import (
    CRD,
    OWNER_LABEL,
    build_programmed,
    build_unclaimed,
    is_programmed,
    parse_owned_labels,
    read_claims,
    read_dns_record,
    read_key,
    write_dns_record,
)
from providers.stores.kubernetes.client import DNS_RECORDS, KubernetesClient
from providers.stores.kubernetes.refusals import Conflict
from providers.stores.registry import (
    ClaimPlace,
    RegistryKind,
    StoreAccess,
    StoreSettings,
    reading_before_write,
)
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError

_ENCODER = msgspec.msgpack.Encoder(order="sorted")
_ByKey = Mapping[EndpointKey, Sequence[KubernetesObject]]


class CrdStore:
    """Claims in the `DNSRecord` objects of a namespace. Holds no state, so threads may share it.

    The limits are the client's: so many objects, and one deadline for a whole reading or a whole write.
    """

    def __init__(self, client: KubernetesClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all objects. Raises ProviderError."""
        return read_claims(self._client.list_objects(DNS_RECORDS, self._namespace))

    def fetch_reading(self) -> StoreReading:
        """All objects; what they claim is only read when it is asked for."""
        objects = self._client.list_objects(DNS_RECORDS, self._namespace)

        def read() -> Sequence[StoredClaim]:
            return read_claims(objects)

        try:
            return StoreReading(_compute_objects_digest(objects), read)
        except OverflowError:
            # No instance writes that: a number that msgpack cannot hold.
            return StoreReading(compute_claims_digest(read()), read)

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change to the one object that holds `old`, one after the other.

        Every change is compared with a fresh reading before the first one is sent. Another writer's touch
        that leaves the claim as it was is no obstacle: the object is read and compared once more. Raises
        NothingSent as long as nothing was written, OutcomeUnknown after that.
        """
        wanted = [change for change in changes if change.old != change.new]
        client = self._client.with_one_deadline()
        steps = self._plan(client, wanted)
        writing = _Writing(client, self._namespace)
        for made, step in enumerate(steps):
            try:
                writing.make(step)
            except ChangeNotConfirmed as error:
                raise _explain(error, step, made, len(steps), has_written=writing.has_written) from error

    def _plan(self, client: KubernetesClient, changes: Sequence[StoredClaimChange]) -> "list[_Step]":
        try:
            for change in changes:
                if change.new is not None:
                    parse_owned_labels(change.new)
            found = self._fetch_by_key(client) if changes else {}
            return [_plan_step(change, found) for change in changes]
        except (RegistryError, WireError) as error:
            raise NothingSent(f"The change was not sent: {error}") from error

    def _fetch_by_key(self, client: KubernetesClient) -> _ByKey:
        with reading_before_write():
            objects = client.list_objects(DNS_RECORDS, self._namespace)
        found: dict[EndpointKey, list[KubernetesObject]] = defaultdict(list)
        for obj in objects:
            key = read_key(obj)
            if key is not None:
                found[key].append(obj)
        return found


def _compute_objects_digest(objects: Iterable[KubernetesObject]) -> bytes:
    """The digest of all that claims are read from. Not of versions: each status an instance writes is one."""
    return compute_digest(
        sorted(
            _ENCODER.encode(
                (
                    read_metadata(obj, "name"),
                    read_texts(obj, "metadata", "labels").get(OWNER_LABEL),
                    read_object(obj, "spec").get("endpoint"),
                )
            )
            for obj in objects
        )
    )


@dataclass(frozen=True)
class _Step:
    """One change, and the object it is made to; None where there is none yet."""

    change: StoredClaimChange
    obj: KubernetesObject | None

    @property
    def name(self) -> str:
        return f"{self.change.record.dns_name} {self.change.record.record_type}"

    def fits(self, obj: KubernetesObject | None) -> bool:
        """Whether the object is as the change expects."""
        if obj is None or read_key(obj) != endpoint_key(self.change.record):
            return False
        claim = read_dns_record(obj)
        if claim is None:
            return self.change.old is None
        return claim.text == self.change.old and not claim.problem


@dataclass
class _Writing:
    """One call of `write` under way."""

    client: KubernetesClient
    namespace: str
    has_written: bool = False

    def make(self, step: _Step) -> None:
        """Make one change; once more where another writer touched the object and left the claim."""
        try:
            self._make(step, step.obj)
        except Conflict as conflict:
            self._make(step, self._read_again(step, conflict))

    def _make(self, step: _Step, obj: KubernetesObject | None) -> None:
        new = step.change.new
        if obj is None:
            obj = self._create(step)
        if new is None:
            self.client.delete(DNS_RECORDS, self.namespace, obj)
            self.has_written = True
            return
        if step.change.old is None and not is_programmed(obj):
            # Before the claim: an instance that finds its object not programmed creates the record set anew.
            now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            obj = self.client.replace(
                DNS_RECORDS, self.namespace, build_programmed(obj, now=now), subresource="/status"
            )
            self.has_written = True
        self.client.replace(DNS_RECORDS, self.namespace, write_dns_record(obj, new))
        self.has_written = True

    def _create(self, step: _Step) -> KubernetesObject:
        obj = self.client.create(DNS_RECORDS, self.namespace, build_unclaimed(step.change.record))
        self.has_written = True
        return obj

    def _read_again(self, step: _Step, conflict: Conflict) -> KubernetesObject:
        name = read_metadata(step.obj or build_unclaimed(step.change.record), "name")
        with reading_before_write():
            obj = self.client.find_object(DNS_RECORDS, self.namespace, name)
        if obj is None or not step.fits(obj):
            raise conflict
        return obj


def _plan_step(change: StoredClaimChange, found: _ByKey) -> _Step:
    """The step of a change, if the objects are as the change expects. Raises NothingSent, InvalidName."""
    step = _Step(change, None)
    objects = found.get(endpoint_key(change.record), ())
    fitting = [obj for obj in objects if step.fits(obj)]
    if change.old is None:
        if any(read_dns_record(obj) is not None for obj in objects):
            raise NothingSent(f"The change was not sent: there is another claim for {step.name} already.")
        # Under another name no instance would find it when it changes the record set.
        name = read_metadata(build_unclaimed(change.record), "name")
        return _Step(change, next((obj for obj in fitting if read_metadata(obj, "name") == name), None))
    if len(fitting) != 1:
        where = "in more than one object" if fitting else "not as it was read before"
        raise NothingSent(f"The change was not sent: the claim for {step.name} stands {where}.")
    return _Step(change, fitting[0])


def _explain(
    error: ChangeNotConfirmed, step: _Step, made: int, of: int, *, has_written: bool
) -> ChangeNotConfirmed:
    """The error of the whole call: what was made, and why it ended."""
    if isinstance(error, Conflict):
        reason = f"another writer changed the claim for {step.name} in between."
    else:
        reason = f"the claim for {step.name} could not be written: {error.reason or error}"
    if isinstance(error, NothingSent) and not has_written:
        return NothingSent(f"The change was not sent: {reason}", reason=error.reason, hint=error.hint)
    return OutcomeUnknown(
        f"{made} of {of} changes were made; then {reason}",
        reason=error.reason or error,
        hint="Read what is there first. Do not write it again without that.",
    )


def _open(settings: StoreSettings, access: StoreAccess) -> CrdStore:
    return CrdStore(access.open_kubernetes(), settings.namespace)


CRD_REGISTRY = RegistryKind(
    name=CRD,
    label="DNSRecord objects (crd)",
    place=ClaimPlace.STORE,
    where="the DNSRecord objects of the namespace {namespace} at the cluster {cluster}",
    settings=("cluster", "namespace"),
    questions={"cluster": "Which cluster holds them?", "namespace": "In which namespace are they?"},
    identity=("cluster", "namespace"),
    description={"Kubernetes API": "kubernetes_api", "namespace": "namespace"},
    open=_open,
)
