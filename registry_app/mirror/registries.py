"""The registry profiles of a provider: those its TXT claims are read under, and the registries beside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import F, Q

from providers.registries.claim import TxtProfile
from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from providers.stores.registry_catalogue import KINDS_WITHOUT_CLAIMS
from registry_app.errors import SecretUnavailable
from registry_app.mirror.secret_reference import fetch_secret_value
from registry_app.models import Instance, Owner, Provider, RegistryProfile


class ProfileAt(NamedTuple):
    """A registry profile that may be used at a provider: it names that one (`is_named`), or none at all."""

    row: RegistryProfile
    is_named: bool


def fetch_profiles_at(provider: Provider) -> list[ProfileAt]:
    """The profiles of all kinds that name this provider or none, in a fixed order. One query."""
    at = RegistryProfile.objects.filter(Q(providers=provider) | Q(providers__isnull=True))
    rows = at.annotate(named_provider=F("providers")).order_by("pk")
    return [ProfileAt(row, row.named_provider is not None) for row in rows]


@dataclass(frozen=True)
class Registries:
    """The registry profiles, by primary key as text, that are read beside the TXT records of a provider.

    `in_endpoints`: those whose claims are in its endpoints' own labels, with their kinds. `stores`: those
    that are read beside its response. `without_claims`: suffixes of names that instances without claims
    (noop) manage: the owner of a record set there that has no claim is unknown.
    """

    in_endpoints: Mapping[str, str] = field(default_factory=dict)
    stores: tuple[str, ...] = ()
    without_claims: tuple[str, ...] = ()

    @property
    def are_any(self) -> bool:
        """Whether there is a registry beside the TXT records that keeps claims."""
        return bool(self.in_endpoints or self.stores)

    def may_lack_claim(self, name: str) -> bool:
        """Whether a record set of this canonical name may be owned without any claim."""
        return any(
            name.endswith(suffix) if suffix.startswith(".") else name == suffix or name.endswith(f".{suffix}")
            for suffix in self.without_claims
        )


NO_REGISTRIES = Registries()


def build_registries(provider: Provider, profiles: Sequence[ProfileAt]) -> Registries:
    """Of the profiles at a provider. Another database read only where some instances keep no claims."""
    named = [each.row for each in profiles if each.is_named]
    in_endpoints: dict[str, str] = {}
    for row in named:
        # Of several of a kind the first one counts: an endpoint has one such label.
        if row.registry.endpoint_claims and row.kind not in in_endpoints.values():
            in_endpoints[str(row.pk)] = row.kind
    return Registries(
        in_endpoints=in_endpoints,
        stores=tuple(str(row.pk) for row in named if row.registry.is_beside_response),
        without_claims=()
        if all(each.row.registry.keeps_claims for each in profiles)
        else _fetch_suffixes_without_claims(provider),
    )


def fetch_txt_profiles(provider: Provider) -> list[TxtProfile]:
    """All TXT profiles that name this provider or none, in a fixed order, and ExternalDNS's default one,
    unless one of them is for instances without prefix, suffix and key.

    `reference` is the row's primary key as text, empty for a default that is not registered. Raises
    SecretUnavailable where a key cannot be read: without it, its claims would look like no claims.
    """
    return build_txt_profiles(fetch_profiles_at(provider))


def build_txt_profiles(found: Iterable[ProfileAt]) -> list[TxtProfile]:
    """As `fetch_txt_profiles`, of the profiles at a provider; those that write none are passed over. One
    whose claims are in a store is among them where the zone has copies of these."""
    profiles = [build_txt_profile(each.row) for each in found if each.row.writes_txt]
    if not any(_is_plain(profile) for profile in profiles):
        profiles.append(TxtProfile())
    return profiles


def build_txt_profile(row: RegistryProfile) -> TxtProfile:
    """One row as a value. Raises SecretUnavailable."""
    return TxtProfile(
        reference=str(row.pk),
        prefix=row.prefix,
        suffix=row.suffix,
        wildcard_replacement=row.wildcard_replacement,
        encryption_key=_fetch_key(row),
    )


def fetch_instance_profile(instance: Instance) -> TxtProfile | None:
    """How an instance writes its claims into TXT records, be it only for the guard; None: it does not. Raises
    SecretUnavailable."""
    row = instance.registry_profile
    if row is None:
        return TxtProfile()
    writes_txt = row.registry.is_in_zone or row.registry.is_behind_guard
    return build_txt_profile(row) if writes_txt else None


def _fetch_suffixes_without_claims(provider: Provider) -> tuple[str, ...]:
    """Names that owners with an instance without claims here are responsible for, or that its domain filter
    lets through."""
    here = Q(provider=None) | Q(provider=provider)
    tried = Q(registry_profile__providers=provider) | Q(registry_profile__providers__isnull=True)
    rows = Instance.objects.filter(
        here, tried, registry_profile__kind__in=KINDS_WITHOUT_CLAIMS, owner__status=Owner.Status.REGISTERED
    )
    found = rows.values_list("owner__name_patterns", "domain_include").distinct()
    suffixes = {
        str(each).lower().removesuffix(".") for patterns, included in found for each in (*patterns, *included)
    }
    return tuple(sorted(suffixes))


def _fetch_key(row: RegistryProfile) -> bytes | None:
    if not row.encryption_key:
        return None
    try:
        return parse_encryption_key(fetch_secret_value(row.encryption_key))
    except InvalidEncryptionKey as error:
        raise SecretUnavailable(
            f"The encryption key of the registry profile {row.name} cannot be used: {error}",
            now="Nothing was read with it.",
            todo="Enter the key of --txt-encrypt-aes-key again.",
        ) from error


def _is_plain(profile: TxtProfile) -> bool:
    return not (profile.prefix or profile.suffix or profile.encryption_key)
