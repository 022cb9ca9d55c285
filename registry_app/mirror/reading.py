"""How a provider's answer is read: all we know beside the answer itself that shapes what is stored of it."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from django.conf import settings
from django.db.models import Q

from providers.registries.claim import TxtProfile
from registry_app.mirror.registries import (
    NO_REGISTRIES,
    Registries,
    build_registries,
    build_txt_profiles,
    fetch_profiles_at,
)
from registry_app.models import Owner, Provider
from registry_app.queries.instance import InstanceFacts, fetch_instances_at

# Raised whenever decoding, pairing, findings or digests change: what an older release accepted is then read
# again.
READING_VERSION = 7
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class OwnerFacts:
    """What people registered about an owner: its status, the names it is responsible for, and those of its
    instances that may write at this provider."""

    owner_id: str
    status: str
    name_patterns: tuple[str, ...]
    instances: tuple[InstanceFacts, ...] = ()

    @property
    def profile_references(self) -> frozenset[str]:
        """The registry profiles its instances write under; empty text for ExternalDNS's defaults."""
        references = {instance.profile for instance in self.instances if not instance.is_loop}
        return frozenset(references or {""})


@dataclass(frozen=True)
class Reading:
    """The profiles, other registries and owners a snapshot is read with. `digest` covers all of it.

    Discovered owners without an instance are not in it: nobody registered anything about them,
    and each new one would make every provider's response new.
    """

    profiles: tuple[TxtProfile, ...]
    owners: Mapping[str, OwnerFacts]
    digest: bytes
    registries: Registries = NO_REGISTRIES


def fetch_reading(provider: Provider) -> Reading:
    """Database read. Raises SecretUnavailable where a profile's key cannot be had."""
    found = fetch_profiles_at(provider)
    profiles = tuple(build_txt_profiles(found))
    owners = {facts.owner_id: facts for facts in _fetch_owner_facts(provider)}
    registries = build_registries(provider, found)
    digest = _digest(profiles, tuple(owners.values()), provider, registries)
    return Reading(profiles, owners, digest, registries)


def compute_accepted_digest(body_digest: str, content_type: str, reading: Reading) -> str:
    """The value of `Provider.accepted_digest`. It covers the response, its media type (a finding depends on
    it) and the reading: a change of any of them makes the next sync compare everything."""
    return _blake2b(bytes.fromhex(body_digest) + reading.digest + content_type.encode()).hex()


def build_element_seed(provider: Provider) -> bytes:
    """The secret under which the elements of a provider's responses are hashed."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"elements {provider.pk}".encode(), "sha256")


def _fetch_owner_facts(provider: Provider) -> list[OwnerFacts]:
    instances = fetch_instances_at(provider)
    # An owner with a registered instance counts, also where the owner itself was only discovered.
    registered = ~Q(status=Owner.Status.DISCOVERED) | Q(owner_id__in=list(instances))
    owners = Owner.objects.filter(registered).order_by("owner_id")
    return [
        OwnerFacts(
            owner_id,
            status,
            tuple(str(pattern).lower().removesuffix(".") for pattern in patterns),
            instances.get(owner_id, ()),
        )
        for owner_id, status, patterns in owners.values_list("owner_id", "status", "name_patterns")
    ]


def _digest(
    profiles: tuple[TxtProfile, ...],
    owners: tuple[OwnerFacts, ...],
    provider: Provider,
    registries: Registries,
) -> bytes:
    # Findings contain the name.
    limits = provider.allow_empty, provider.hold_missing_percent, provider.hold_owners_changed_percent
    values = (READING_VERSION, profiles, owners, limits, provider.name, registries)
    return _blake2b(msgspec.msgpack.encode(values))


def _blake2b(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
