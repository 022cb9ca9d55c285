"""Guard endpoints, what their instances want, and whether that is still known."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from registry_app.models import (
    PROVIDER_SECRETS,
    UNSETTLED,
    DesiredEndpoint,
    DesiredSet,
    GuardEndpoint,
    GuardStep,
    Instance,
    Loop,
    Provider,
    RecordSet,
    StepStatus,
)
from registry_app.queries.named_row import read_name
from registry_app.queries.provider import build_free_query

_MOST_MISSED = 3
# ExternalDNS's own default. With --events an instance also syncs in between, which shortens what is measured.
_SHORTEST_INTERVAL = 60


def find_guard_endpoint(slug: str) -> GuardEndpoint | None:
    """The guard endpoint at this path, with its provider, which is about to be read or changed, its instance,
    registry profile and owner, in one statement; None where there is none."""
    if "\0" in slug:  # PostgreSQL refuses it, and no slug has one
        return None
    related = ("provider", "instance", "instance__owner", "instance__registry_profile")
    return GuardEndpoint.objects.select_related(*related).filter(slug=slug).first()


def list_guard_endpoints() -> QuerySet[GuardEndpoint]:
    """All guard endpoints with what a list shows of each, without the hash of a password."""
    related = ("provider", "instance", "instance__owner", "instance__cluster", "desired_set")
    return GuardEndpoint.objects.select_related(*related).defer(
        "password_hash",
        *PROVIDER_SECRETS,
        *(f"instance__cluster__{name}" for name in ("token", "client_key")),
    )


def list_desired_endpoints() -> QuerySet[DesiredEndpoint]:
    """All desired endpoints with what a list shows of who wants each."""
    related = ("provider", "instance", "instance__owner", "desired_set")
    secrets = (f"guard_endpoint__{name}" for name in ("password_hash", *PROVIDER_SECRETS))
    return DesiredEndpoint.objects.select_related(
        "guard_endpoint", *(f"guard_endpoint__{name}" for name in related)
    ).defer(*secrets)


def list_who_wants(record_set: RecordSet) -> QuerySet[DesiredEndpoint]:
    """The desired endpoints with the name and type of a record set, at its provider."""
    same = {"name": record_set.name, "record_type": record_set.record_type}
    rows = list_desired_endpoints().filter(guard_endpoint__provider=record_set.provider_id, **same)
    return rows.order_by("guard_endpoint__slug", "set_identifier")


def find_shared_suffixes(provider_id: int, owner_id: str) -> list[list[str]]:
    """The names that the guard endpoints of an owner at a provider list as shared."""
    rows = GuardEndpoint.objects.filter(provider=provider_id, instance__owner__owner_id=owner_id)
    return list(rows.values_list("shared_names", flat=True))


def fetch_covered_owners(provider: Provider, modes: Collection[str]) -> dict[str, datetime]:
    """By owner id, the owners whose instances at a provider all post to a guard endpoint in one of these
    modes, with since when that is so, at the latest."""
    rows = GuardEndpoint.objects.filter(provider=provider, mode__in=modes, desired_set__isnull=False)
    since = dict(rows.values_list("instance_id", "updated_at"))
    found = list_known_instances(provider, since.keys())
    return {owner_id: max(since[pk] for pk in pks) for owner_id, pks in found.items()}


def list_known_instances(provider: Provider, known: Collection[int]) -> dict[str, list[int]]:
    """The instances at a provider by owner id, of the owners all of whose instances are among the known ones.
    A loop is an instance that is not."""
    here = Q(provider=None) | Q(provider=provider)
    found: dict[str, list[int]] = defaultdict(list)
    for owner_id, pk in Instance.objects.filter(here).values_list("owner__owner_id", "pk"):
        found[owner_id].append(pk)
    loops = Loop.objects.filter(provider=provider, is_enabled=True)
    for owner_id in loops.values_list("owner__owner_id", flat=True):
        found.pop(owner_id, None)
    return {owner_id: pks for owner_id, pks in found.items() if all(pk in known for pk in pks)}


def list_providers_with_steps_left(now: datetime) -> list[int]:
    """Providers with change sets that nobody is working on and whose outcome nobody read."""
    waiting = GuardStep.objects.filter(build_free_query(now, "provider__"), provider__deleted_at__isnull=True)
    left = waiting.filter(status__in=(StepStatus.STORED, *UNSETTLED))
    return sorted(set(left.values_list("provider_id", flat=True)))


def build_below_query(text: str) -> Q:
    """Rows whose canonical `name` is this name, in any spelling, or below it."""
    name = read_name(text)
    return Q(name=name) | Q(name__endswith=f".{name}")


def find_desired_set(row: GuardEndpoint) -> DesiredSet | None:
    """What the instance wants; None if it posted nothing yet. Select `desired_set` with many rows."""
    found: DesiredSet | None = getattr(row, "desired_set", None)
    return found


def compute_stale_at(desired: DesiredSet) -> datetime:
    """When a desired set is stale unless the instance posts again: after three of its intervals.

    An interval that is not known, or shorter than ExternalDNS's default of a minute, counts as a minute.
    """
    seconds = max(desired.interval_seconds or 0, _SHORTEST_INTERVAL)
    return desired.last_seen_at + timedelta(seconds=_MOST_MISSED * seconds)


def is_stale(desired: DesiredSet, now: datetime) -> bool:
    """Whether the instance should have posted again by `now`."""
    return now > compute_stale_at(desired)
