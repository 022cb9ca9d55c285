"""The registries of a provider whose claims are not in TXT records of its zone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from providers.stores.registry_catalogue import KINDS_WITHOUT_CLAIMS
from registry_app.mirror.profiles import ProfileAt, fetch_profiles_at
from registry_app.models import Instance, Owner, Provider


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


def fetch_registries(provider: Provider) -> Registries:
    """Database read."""
    return build_registries(provider, fetch_profiles_at(provider))


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
