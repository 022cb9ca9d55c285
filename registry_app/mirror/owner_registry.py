"""Where the instances of an owner write their claims, and how."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from registry_app.mirror.registries import build_txt_profile
from registry_app.models import Instance, Owner, Provider, RegistryProfile
from registry_app.queries.instance import list_instances_at

_SHOWN = 3


@dataclass(frozen=True)
class OwnerRegistry:
    """The registry of one owner: TXT records under `txt`, or the rows of `store`.

    `store` is the primary key, as text, of the registry profile whose store holds the rows; empty for the
    zone itself. `copies` is the format of the TXT records that repeat these rows in the zone, where there are
    any. Without `keeps_claims` (noop) the instance manages every record set that it sees.
    `disagreement` says which of its instances write in different ways; empty where they agree.
    """

    txt: TxtProfile = DEFAULT_PROFILE
    store: str = ""
    copies: TxtProfile | None = None
    keeps_claims: bool = True
    disagreement: str = ""


def fetch_owner_registry(owner: Owner, provider: Provider, profiles: Sequence[TxtProfile]) -> OwnerRegistry:
    """What is registered of an owner's instances at a provider; ExternalDNS's defaults where nothing is.

    `profiles` are the TXT profiles of the provider. Where the instances disagree the first of them counts,
    and `disagreement` says so. Raises SecretUnavailable.
    """
    rows = list_instances_at(owner, provider)
    registry = _build_registry(rows[0].registry_profile if rows else None, profiles)
    return replace(registry, disagreement=describe_disagreement(owner, provider, rows))


def list_registry_profiles(owner: Owner, provider: Provider) -> list[RegistryProfile]:
    """The registry profiles of an owner's instances at a provider, each once."""
    rows = list_instances_at(owner, provider)
    named = {row.registry_profile.pk: row.registry_profile for row in rows if row.registry_profile}
    return list(named.values())


def is_read_at(profile: RegistryProfile, provider: Provider) -> bool:
    """Whether a sync of the provider reads claims under this profile."""
    named = set(profile.providers.values_list("pk", flat=True))
    return provider.pk in named or not (named or profile.registry.has_store)


def describe_disagreement(owner: Owner, provider: Provider, rows: Sequence[Instance]) -> str:
    """Which of an owner's instances at a provider write their claims in different ways; empty if none do."""
    users: dict[str, list[str]] = {}
    for row in rows:
        users.setdefault(str(row.registry_profile or "ExternalDNS's defaults"), []).append(row.name)
    if len(users) < 2:
        return ""
    ways = ", ".join(f"{_name(names)} with {profile}" for profile, names in users.items())
    return (
        f"The instances of {owner.owner_id} write their claims at {provider.name} in different ways: {ways}."
    )


def _name(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _build_registry(profile: RegistryProfile | None, profiles: Sequence[TxtProfile]) -> OwnerRegistry:
    if profile is None:
        plain = (each for each in profiles if not (each.prefix or each.suffix or each.encryption_key))
        return OwnerRegistry(txt=next(plain, DEFAULT_PROFILE))
    if profile.registry.is_in_zone:
        return OwnerRegistry(txt=build_txt_profile(profile))
    copies = build_txt_profile(profile) if profile.writes_txt else None
    return OwnerRegistry(store=str(profile.pk), copies=copies, keeps_claims=profile.registry.keeps_claims)
