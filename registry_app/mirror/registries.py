"""The registries of a provider whose claims do not stand in TXT records of its zone."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from registry_app.mirror.profiles import ProfileAt, fetch_profiles_at
from registry_app.models import Instance, Owner, Provider, RegistryProfile

_KIND = RegistryProfile.Kind
STORE_KINDS = (_KIND.CONFIGMAP, _KIND.CRD, _KIND.DYNAMODB, _KIND.AWS_SD)


@dataclass(frozen=True)
class Registries:
    """Which profiles, by primary key as text, are heard beside the TXT records of a provider.

    `aws_sd`: whose claims its endpoints carry in themselves, if there is one. `stores`: those that are read
    beside its answer. `blind`: suffixes of names that are in the hands of instances that keep no claims
    (noop): what has no claim there is not unmanaged, its owner is not known.
    """

    aws_sd: str = ""
    stores: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()

    @property
    def are_any(self) -> bool:
        """Whether there is a registry beside the TXT records that keeps claims."""
        return bool(self.aws_sd or self.stores)

    def is_blind_at(self, name: str) -> bool:
        """Whether a record set of this canonical name may be owned without any claim."""
        return any(
            name.endswith(suffix) if suffix.startswith(".") else name == suffix or name.endswith(f".{suffix}")
            for suffix in self.blind
        )


NO_REGISTRIES = Registries()


def fetch_registries(provider: Provider) -> Registries:
    """Database read."""
    return build_registries(provider, fetch_profiles_at(provider))


def build_registries(provider: Provider, profiles: Sequence[ProfileAt]) -> Registries:
    """Of the profiles at a provider. Another database read only where some instances keep no claims."""
    stores = [each.row for each in profiles if each.is_named and each.row.kind in STORE_KINDS]
    found = [(str(row.pk), row.kind) for row in stores]
    has_blind = any(each.row.kind == _KIND.NOOP for each in profiles)
    carried = [pk for pk, kind in found if kind == _KIND.AWS_SD]
    return Registries(
        # Of several the first one counts: an endpoint has one description.
        aws_sd=carried[0] if carried else "",
        stores=tuple(pk for pk, kind in found if kind != _KIND.AWS_SD),
        blind=_fetch_blind_suffixes(provider) if has_blind else (),
    )


def _fetch_blind_suffixes(provider: Provider) -> tuple[str, ...]:
    """Names that owners with an instance without registry here are responsible for, or that its domain filter
    lets through."""
    here = Q(provider=None) | Q(provider=provider)
    tried = Q(registry_profile__providers=provider) | Q(registry_profile__providers__isnull=True)
    rows = Instance.objects.filter(
        here, tried, registry_profile__kind=_KIND.NOOP, owner__status=Owner.Status.REGISTERED
    )
    found = rows.values_list("owner__name_patterns", "domain_include").distinct()
    suffixes = {
        str(each).lower().removesuffix(".") for patterns, included in found for each in (*patterns, *included)
    }
    return tuple(sorted(suffixes))
