"""The reference provider: a strict webhook server on loopback, and the endpoints that stand in it.

    with ReferenceProvider(make_zone("blue-cluster", 3)) as provider:
        ...talk HTTP to provider.url...
    assert provider.zone_bytes() == before

It refuses an `updateOld` or a delete that is not what it holds. Its faults are in
`tests.faults.read_faults`, `framing_faults`, `write_faults` and, all of them, `fault_catalogue`.
"""

import base64
import gzip
import os
import ssl
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from providers.backends.memory import ApplyMode, MemoryBackend
from providers.backends.single_change import key_of
from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.servers.wsgi_application import RequiredCredential
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from tests.faults.fault import FaultPlan
from tests.faults.history import History
from tests.servers.provider_server import ProviderServer, WebhookServer

_TEMPLATE = "%{record_type}"


class ReferenceProvider:
    """One provider for one test. `stop()` makes it refuse connections, `start()` brings it back."""

    backend_type = MemoryBackend

    def __init__(
        self,
        endpoints: Iterable[Endpoint] = (),
        *,
        mode: ApplyMode = ApplyMode.ATOMIC,
        value_exact: bool = True,
        domain_filter: DomainFilter | None = None,
        reads_until_visible: int = 0,
        base_path: str = "",
        credential: RequiredCredential | None = None,
        tls: ssl.SSLContext | None = None,
        server_type: type[ProviderServer] = WebhookServer,
    ) -> None:
        self.backend = self.backend_type(
            endpoints,
            mode=mode,
            value_exact=value_exact,
            domain_filter=domain_filter,
            reads_until_visible=reads_until_visible,
        )
        self.history = History()
        self.faults = FaultPlan()
        self._server = server_type(
            self.backend,
            base_path=base_path,
            credential=credential,
            tls=tls,
            observers=(self.history,),
            faults=self.faults,
        )

    @property
    def url(self) -> str:
        """What a client is configured with. The port stays the same after `stop()` and `start()`."""
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def endpoints(self) -> tuple[Endpoint, ...]:
        """What the zone truly holds now, whatever readers are shown, in a fixed order."""
        return tuple(sorted(self.backend.contents(), key=key_of))

    def zone_bytes(self) -> bytes:
        """The whole zone as bytes: equal before and after if nothing at all changed."""
        return encode_endpoints(self.endpoints())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def make_record(
    name: str = "www.example.org",
    record_type: str = "A",
    targets: Iterable[str] = ("192.0.2.1",),
    *,
    ttl: int = 300,
    set_identifier: str = "",
) -> Endpoint:
    """An endpoint as a provider shows it."""
    return Endpoint(
        dns_name=name,
        targets=tuple(targets),
        record_type=record_type,
        set_identifier=set_identifier,
        record_ttl=ttl,
    )


def make_claim(
    name: str = "www.example.org",
    record_type: str = "A",
    owner: str = "blue-cluster",
    profile: TxtProfile = DEFAULT_PROFILE,
    *,
    resource: str = "",
    ttl: int = 300,
    set_identifier: str = "",
) -> Endpoint:
    """The plain-text TXT endpoint that claims a record for an owner.

    Written here a second time, and simply, so that a mistake in `providers.registries` shows.
    """
    labels = f"heritage=external-dns,external-dns/owner={owner}"
    if resource:
        labels += f",external-dns/resource={resource}"
    return make_record(
        make_claim_name(name, record_type, profile),
        "TXT",
        (f'"{labels}"',),
        ttl=ttl,
        set_identifier=set_identifier,
    )


def make_claim_encrypted_otherwise(
    name: str, owner: str, profile: TxtProfile, *, resource: str = ""
) -> Endpoint:
    """A claim encrypted with the profile's key, and compressed as zlib does, not as ExternalDNS does."""
    plain = make_claim(name, owner=owner, profile=profile, resource=resource)
    key, nonce = profile.encryption_key or b"", os.urandom(12)
    compressed = gzip.compress(plain.targets[0].strip('"').encode(), 9)
    sealed = base64.b64encode(nonce + AESGCM(key).encrypt(nonce, compressed, None)).decode()
    return make_record(plain.dns_name, "TXT", (f'"{sealed}"',))


def make_claim_name(name: str, record_type: str, profile: TxtProfile = DEFAULT_PROFILE) -> str:
    """The TXT name ExternalDNS would choose under a profile."""
    kind = record_type.lower()
    first, _, rest = name.partition(".")
    if first == "*" and profile.wildcard_replacement:
        first = profile.wildcard_replacement
    if _TEMPLATE not in profile.prefix + profile.suffix:
        first = f"{kind}-{first}"
    first = f"{profile.prefix.lower()}{first}{profile.suffix.lower()}".replace(_TEMPLATE, kind)
    return f"{first}.{rest}"


def make_zone(owner: str = "blue-cluster", count: int = 10, *, domain: str = "example.org") -> list[Endpoint]:
    """`count` record sets of one owner, each followed by its claim: mostly A, some AAAA and CNAME."""
    zone: list[Endpoint] = []
    for number in range(count):
        name = f"app-{number:05d}.{domain}"
        if number % 10 == 7:
            record = make_record(name, "AAAA", (f"2001:db8::{number:x}",))
        elif number % 10 == 9:
            record = make_record(name, "CNAME", (f"lb-{number % 4}.{domain}",))
        else:
            record = make_record(name, "A", (f"192.0.2.{number % 254 + 1}",))
        resource = f"ingress/shop/app-{number:05d}"
        zone += [record, make_claim(name, record.record_type, owner, resource=resource)]
    return zone
