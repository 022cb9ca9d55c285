"""The registry profiles that claims at one provider are read under."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import F, Q

from providers.registries.claim import TxtProfile
from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from registry_app.errors import SecretUnavailable
from registry_app.mirror.secret_reference import fetch_secret_value
from registry_app.models import Provider, RegistryProfile


def fetch_txt_profiles(provider: Provider) -> list[TxtProfile]:
    """All TXT profiles that name this provider or none, in a fixed order, and ExternalDNS's default one,
    unless one of them says otherwise what instances without prefix, suffix and key do.

    `reference` is the row's primary key as text, empty for a default that nobody registered. Raises
    SecretUnavailable where a key cannot be had: read without it, its claims would look like no claims.
    """
    return build_txt_profiles(fetch_profiles_at(provider))


class ProfileAt(NamedTuple):
    """A registry profile that may be used at a provider: it names that one (`is_named`), or none at all."""

    row: RegistryProfile
    is_named: bool


def fetch_profiles_at(provider: Provider) -> list[ProfileAt]:
    """The profiles of all kinds that name this provider or none, in a fixed order. One query."""
    at = RegistryProfile.objects.filter(Q(providers=provider) | Q(providers__isnull=True))
    rows = at.annotate(named_provider=F("providers")).order_by("pk")
    return [ProfileAt(row, row.named_provider is not None) for row in rows]


def build_txt_profiles(found: Iterable[ProfileAt]) -> list[TxtProfile]:
    """As `fetch_txt_profiles`, of the profiles at a provider; those of other kinds are passed over."""
    profiles = [build_txt_profile(each.row) for each in found if each.row.registry.is_in_zone]
    if not any(_is_plain(profile) for profile in profiles):
        profiles.append(TxtProfile())
    return profiles


def build_txt_profile(row: RegistryProfile) -> TxtProfile:
    """One row as the value the TXT registry speaks in. Raises SecretUnavailable."""
    return TxtProfile(
        reference=str(row.pk),
        prefix=row.prefix,
        suffix=row.suffix,
        wildcard_replacement=row.wildcard_replacement,
        encryption_key=_fetch_key(row),
    )


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
