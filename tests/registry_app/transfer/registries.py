"""Registries of every kind around one provider: where a claim is put, and what they hold."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from providers.registries.stored_claim import StoredClaim
from providers.stores.aws_sd_registry import AWS_SD_DESCRIPTION, read_claims
from providers.wire.canonical_name import endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import Provider, RegistryProfile
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_claim, make_claim_name
from tests.registry_app.transfer.recording import RecordingProvider

WRITE_FAULTS: dict[str, Callable[[], Fault]] = {
    "none": lambda: write_faults.first_applied(1_000, 204),
    "error": write_faults.error_before_applying,
    "reset": framing_faults.reset,
    "applied then error": write_faults.applied_then_error,
    "applied then reset": write_faults.applied_then_reset,
    "first": lambda: write_faults.first_applied(1),
    "first, success": lambda: write_faults.first_applied(1, 204),
    "nothing": write_faults.success_with_nothing_applied,
}
READ_FAULTS: dict[str, Callable[[], Fault]] = {
    "none": read_faults.shuffled,
    "failing": lambda: read_faults.status(503),
    "reset": framing_faults.reset,
    "closed": framing_faults.closed,
}


def heritage(owner: str, name: str) -> str:
    """What a claim of this owner says, in every registry."""
    return f"heritage=external-dns,external-dns/owner={owner},external-dns/resource=ingress/shop/{name}"


class Registry(Protocol):
    """One registry, as the instances that use it write it."""

    kind: str

    def profile(self, provider: Provider) -> RegistryProfile | None:
        """The registry profile of its instances at this provider; None: ExternalDNS's defaults."""
        ...

    def put(self, record: Endpoint, owner: str) -> None:
        """An instance claims a record set."""
        ...

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        """All heritage texts that stand there now, without quotes."""
        ...

    def plan_fault(self, kind: str, name: str) -> None:
        """Let the next write, or read, of this registry meet a fault. `kind` is "write" or "read"."""
        ...

    def rewrite(self, record: Endpoint, owner: str) -> None:
        """An instance beside us makes another owner of a claim that stands."""
        ...

    def before_next_write(self, act: Callable[[], None]) -> None:
        """Somebody acts when our next write is on its way already."""
        ...

    def watch(self, act: Callable[[], None]) -> None:
        """Call this after each change of what stands in the registry's own place, if that is no zone."""
        ...

    def clear_faults(self) -> None:
        """Whatever faults are planned still, none of them is met."""
        ...


class TxtRegistry:
    """Claims in TXT records of the zone."""

    kind = "txt"

    def __init__(self, reference: RecordingProvider) -> None:
        self._reference = reference

    def profile(self, provider: Provider) -> RegistryProfile | None:
        return None

    def put(self, record: Endpoint, owner: str) -> None:
        claim = make_claim(record.dns_name, record.record_type, set_identifier=record.set_identifier, ttl=60)
        claim = msgspec.structs.replace(claim, targets=(f'"{heritage(owner, record.dns_name)}"',))
        self._reference.backend.apply(ChangeSet(create=(claim,)))

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        zone = self._reference.endpoints()
        txts = {each.dns_name: each.targets for each in zone if each.record_type == "TXT"}
        found: dict[EndpointKey, list[str]] = {}
        for each in zone:
            texts = txts.get(make_claim_name(each.dns_name, each.record_type), ())
            if texts and each.record_type != "TXT":
                found[endpoint_key(each)] = [text.strip('"') for text in texts]
        return found

    def plan_fault(self, kind: str, name: str) -> None:
        if kind == "write":
            self._reference.faults.plan("POST /records", WRITE_FAULTS[name]())
        else:
            self._reference.faults.plan("GET /records", READ_FAULTS[name]())

    def rewrite(self, record: Endpoint, owner: str) -> None:
        name = make_claim_name(record.dns_name, record.record_type)
        (old,) = (each for each in self._reference.endpoints() if each.dns_name == name)
        new = msgspec.structs.replace(old, targets=(f'"{heritage(owner, record.dns_name)}"',))
        self._reference.backend.apply(ChangeSet(update_old=(old,), update_new=(new,)))

    def before_next_write(self, act: Callable[[], None]) -> None:
        self._reference.faults.plan("POST /records", write_faults.meanwhile(act))

    def watch(self, act: Callable[[], None]) -> None:
        """Its place is the zone, which is watched anyway."""

    def clear_faults(self) -> None:
        self._reference.faults.clear()


class AwsSdRegistry(TxtRegistry):
    """Claims in a label of the provider's own endpoints."""

    kind = "aws-sd"

    def profile(self, provider: Provider) -> RegistryProfile | None:
        return make_profile(self.kind, provider)

    def put(self, record: Endpoint, owner: str) -> None:
        labels = {**record.labels, AWS_SD_DESCRIPTION: heritage(owner, record.dns_name)}
        new = msgspec.structs.replace(record, labels=labels)
        self._reference.backend.apply(ChangeSet(update_old=(record,), update_new=(new,)))

    def rewrite(self, record: Endpoint, owner: str) -> None:
        (old,) = (each for each in self._reference.endpoints() if endpoint_key(each) == endpoint_key(record))
        self.put(old, owner)

    def before_next_write(self, act: Callable[[], None]) -> None:
        # Reads of a run: the review, the batch, the batch's rows, and the one just before the update.
        self._reference.faults.plan("GET /records", write_faults.meanwhile(act), after=3)

    def claims(self) -> Mapping[EndpointKey, list[str]]:
        return by_key(read_claims(self._reference.endpoints()))


def make_profile(kind: str, provider: Provider, **values: object) -> RegistryProfile:
    """The profile of this kind, at this provider from now on; a second call gives the same one."""
    profile, _ = RegistryProfile.objects.update_or_create(name=kind, defaults={"kind": kind, **values})
    profile.providers.set([provider])
    return profile


def by_key(claims: Iterable[StoredClaim]) -> dict[EndpointKey, list[str]]:
    found: dict[EndpointKey, list[str]] = {}
    for claim in claims:
        found.setdefault(claim.key, []).append(claim.text)
    return {key: sorted(texts) for key, texts in found.items()}
