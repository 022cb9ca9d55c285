"""What is known of the instances of owners: rows that people registered, and loops of dnsadmin's own."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat

from providers.wire.domain_filter import DomainFilter
from registry_app.models import Instance, InstancePolicy, Loop, Owner, Provider, RegistryProfile

# To prefetch with owners: what says how their instances write claims, and all that is shown of them.
WITH_PROFILES = "instances__registry_profile"
WITH_ALL = (WITH_PROFILES, "instances__cluster", "instances__provider")


@dataclass(frozen=True)
class InstanceFacts:
    """One instance, as far as it is known: see the model for what an empty value means.

    `profile` is the primary key of its registry profile as text, empty for ExternalDNS's defaults. A loop
    has the settings of its row; the instances without a cluster say how it writes claims.
    """

    owner_id: str
    name: str
    policy: str = InstancePolicy.UNKNOWN
    cluster: str = ""
    provider_id: int | None = None
    profile: str = ""
    domain_include: tuple[str, ...] = ()
    domain_exclude: tuple[str, ...] = ()
    managed_types: tuple[str, ...] = ()
    claim_cache_seconds: int | None = None
    is_loop: bool = False

    @property
    def domain_filter(self) -> DomainFilter:
        """The names it acts on."""
        return DomainFilter(self.domain_include, self.domain_exclude)

    def writes_at(self, provider_id: int) -> bool:
        """Whether it may write at this provider."""
        return self.provider_id in (None, provider_id)

    def matches(self, name: str) -> bool:
        """Whether its domain filter lets a canonical name through."""
        return self.domain_filter.matches(name)

    def manages(self, record_type: str) -> bool:
        """Whether it manages record sets of this type, as far as it is known."""
        return not self.managed_types or record_type in self.managed_types

    def shares_types_with(self, other: "InstanceFacts") -> bool:
        """Whether both manage record sets of one type, as far as it is known."""
        if not self.managed_types or not other.managed_types:
            return True
        return not set(self.managed_types).isdisjoint(other.managed_types)

    def is_replica_of(self, other: "InstanceFacts") -> bool:
        """Whether nothing shows that the two want different things: what both are known for is the same."""
        clusters = {self.cluster, other.cluster} - {""}
        policies = {self.policy, other.policy} - {str(InstancePolicy.UNKNOWN)}
        return (
            len(clusters) < 2
            and len(policies) < 2
            and self.is_loop == other.is_loop
            and _scope_of(self) == _scope_of(other)
        )


def _scope_of(instance: InstanceFacts) -> tuple[object, ...]:
    return (
        instance.profile,
        set(instance.domain_include),
        set(instance.domain_exclude),
        instance.managed_types,
    )


def build_facts(row: Instance, owner_id: str) -> InstanceFacts:
    """One row as a value; its cluster must be loaded."""
    return InstanceFacts(
        owner_id=owner_id,
        name=row.name,
        policy=row.policy,
        cluster=row.cluster.name if row.cluster else "",
        provider_id=row.provider_id,
        profile=str(row.registry_profile_id or ""),
        domain_include=tuple(row.domain_include),
        domain_exclude=tuple(row.domain_exclude),
        managed_types=tuple(row.managed_types),
        claim_cache_seconds=row.claim_cache_seconds,
    )


def build_loop_facts(loop: Loop, owner_id: str) -> InstanceFacts:
    """A loop as the instance it is."""
    return InstanceFacts(
        owner_id=owner_id,
        name="dnsadmin's loop",
        policy=loop.policy,
        provider_id=loop.provider_id,
        managed_types=tuple(sorted(loop.managed_types)),
        claim_cache_seconds=0,
        is_loop=True,
    )


def fetch_instances(owner_ids: Collection[str]) -> dict[str, tuple[InstanceFacts, ...]]:
    """All instances of these owners by owner id, loops that run included; an owner without any is not in it.

    Three queries, however many owners and instances.
    """
    rows = Instance.objects.filter(owner__owner_id__in=owner_ids).select_related("owner")
    loops = Loop.objects.filter(owner__owner_id__in=owner_ids, is_enabled=True).select_related("owner")
    return _group(rows.prefetch_related("cluster"), loops)


def fetch_instances_at(provider: Provider) -> dict[str, tuple[InstanceFacts, ...]]:
    """All instances that may write at a provider, by owner id, loops that run included. Three queries."""
    here = Q(provider=None) | Q(provider=provider)
    rows = Instance.objects.filter(here).select_related("owner").prefetch_related("cluster")
    loops = Loop.objects.filter(provider=provider, is_enabled=True).select_related("owner")
    return _group(rows, loops)


def leave_out_loop_settings(
    instances: Iterable[InstanceFacts], provider_id: int
) -> tuple[InstanceFacts, ...]:
    """Instances that act by themselves at a provider. Where a loop runs, a row without a cluster only says
    how that loop writes its claims: it is the same instance."""
    given = tuple(instances)
    if not any(each.is_loop and each.writes_at(provider_id) for each in given):
        return given
    return tuple(each for each in given if each.is_loop or each.cluster)


def list_instances_at(owner: Owner, provider: Provider) -> list[Instance]:
    """The registered instances of an owner that may write at a provider. Prefetch WITH_PROFILES for many."""
    return [row for row in owner.instances.all() if row.provider_id in (None, provider.pk)]


def list_owner_ids(profile: RegistryProfile, provider: Provider) -> list[str]:
    """The owners with an instance that writes under a registry profile, and may do so at this provider."""
    here = Q(provider=None) | Q(provider=provider)
    found = profile.instances.filter(here).order_by("owner__owner_id")
    return list(found.values_list("owner__owner_id", flat=True).distinct())


def find_cluster_instance(owner: Owner, provider: Provider) -> Instance | None:
    """An instance of this owner that runs in a cluster and may write at this provider."""
    here = Q(provider=None) | Q(provider=provider)
    rows = Instance.objects.filter(here, owner=owner, cluster__isnull=False).prefetch_related("cluster")
    return rows.order_by("pk").first()


def list_labelled_instances() -> QuerySet[Instance]:
    """All instances with their owner, and with `label`: the text by which people choose one."""
    label = Concat("name", Value(" of "), "owner__owner_id")
    return Instance.objects.select_related("owner").annotate(label=label)


def find_only_instance(owner: Owner) -> Instance | None:
    """The instance of an owner that has exactly one row. Prefetch its instances for many owners."""
    rows = list(owner.instances.all())
    return rows[0] if len(rows) == 1 else None


def _group(rows: QuerySet[Instance], loops: QuerySet[Loop]) -> dict[str, tuple[InstanceFacts, ...]]:
    found: dict[str, list[InstanceFacts]] = {}
    for row in rows.order_by("pk"):
        found.setdefault(row.owner.owner_id, []).append(build_facts(row, row.owner.owner_id))
    for loop in loops.order_by("pk"):
        found.setdefault(loop.owner.owner_id, []).append(build_loop_facts(loop, loop.owner.owner_id))
    return {owner_id: tuple(instances) for owner_id, instances in found.items()}
