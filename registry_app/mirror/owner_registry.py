"""Where an owner's instance writes its claims, and how."""

from collections.abc import Sequence
from dataclasses import dataclass

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from registry_app.mirror.profiles import build_txt_profile
from registry_app.models import Owner, RegistryProfile

_TXT = RegistryProfile.Kind.TXT
_NOOP = RegistryProfile.Kind.NOOP


@dataclass(frozen=True)
class OwnerRegistry:
    """The registry of one owner: TXT records under `txt`, or the rows of `store`.

    `store` is the primary key, as text, of the registry profile whose store holds the rows; empty for the
    zone itself. `is_blind`: the instance keeps none (noop), and takes all it can see for its own.
    """

    txt: TxtProfile = DEFAULT_PROFILE
    store: str = ""
    is_blind: bool = False


def fetch_owner_registry(owner: Owner, profiles: Sequence[TxtProfile]) -> OwnerRegistry:
    """What was said of an owner; ExternalDNS's defaults where nobody said anything.

    `profiles` are the TXT profiles of the provider. Raises SecretUnavailable.
    """
    profile = owner.registry_profile
    if profile is None:
        plain = (each for each in profiles if not (each.prefix or each.suffix or each.encryption_key))
        return OwnerRegistry(txt=next(plain, DEFAULT_PROFILE))
    if profile.kind == _TXT:
        return OwnerRegistry(txt=build_txt_profile(profile))
    return OwnerRegistry(store=str(profile.pk), is_blind=profile.kind == _NOOP)
