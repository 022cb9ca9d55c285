"""Loops: which run now, who may act on them, what they keep and what they deleted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet

from providers.registries.labels import RESOURCE
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import (
    DeclaredEndpoint,
    Grant,
    Loop,
    LoopRun,
    Owner,
    Provider,
    RecordSet,
    Transfer,
    TransferItem,
)
from registry_app.queries.access import fetch_reach, find_names_out_of_reach, may_act, may_act_everywhere
from registry_app.queries.instance import list_instances_at
from registry_app.queries.named_row import build_suffix_query
from registry_app.queries.provider import build_due_query, build_free_query

_MOST_DUE = 500
_LONGEST_WAIT = timedelta(days=2)
_REQUEST = Grant.Action.REQUEST


def due_loops() -> list[int]:
    """Loops whose next run is due, the longest waiting first, and whose provider's lease is free."""
    return list(_due().order_by("next_run_at", "pk").values_list("pk", flat=True)[:_MOST_DUE])


def is_loop_due(loop_id: int) -> bool:
    """Whether it is one of them."""
    return _due().filter(pk=loop_id).exists()


def unfinished_loop_runs() -> list[int]:
    """Runs that have not ended and whose worker is gone: the lease of their provider is free."""
    is_due = build_due_query("next_attempt_at", fetch_now(), _LONGEST_WAIT)
    left = LoopRun.objects.filter(is_due, _is_provider_free(), status=LoopRun.Status.RUNNING)
    return list(left.order_by("pk").values_list("pk", flat=True)[:_MOST_DUE])


def names_of_open_transfers(provider_id: int) -> frozenset[str]:
    """The names that transfers lock that are not over."""
    locked = TransferItem.objects.filter(
        transfer__provider_id=provider_id, transfer__status__in=Transfer.OPEN_STATUSES, lock_key__isnull=False
    )
    return frozenset(locked.order_by().values_list("name", flat=True))


def is_first_contact(owner: Owner, provider: Provider) -> bool:
    """Whether dnsadmin never ran this owner here: there is no loop, and no run that created anything."""
    runs = LoopRun.objects.filter(owner=owner, provider=provider, created__gt=0)
    return not (Loop.objects.filter(owner=owner, provider=provider).exists() or runs.exists())


def _due() -> "QuerySet[Loop]":
    is_due = build_due_query("next_run_at", fetch_now(), _LONGEST_WAIT)
    return Loop.objects.filter(is_due, _is_provider_free(), is_enabled=True, provider__is_enabled=True)


def _is_provider_free() -> Q:
    return build_free_query(fetch_now(), "provider__")


def may_declare(actor: Actor, provider: Provider, owner: Owner, names: Collection[str]) -> bool:
    """Whether the actor may declare endpoints under every one of these names; no for no names."""
    if not actor.has_scope("apply"):
        return False
    return may_act(actor, _REQUEST, provider=provider, owner=owner, names=names)


def may_declare_everything(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may declare endpoints under any name."""
    if not actor.has_scope("apply"):
        return False
    return may_act_everywhere(actor, _REQUEST, provider=provider, owner=owner)


def may_declare_somewhere(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether there is a name under which the actor may declare an endpoint: for what pages offer."""
    return actor.has_scope("apply") and bool(fetch_reach(actor, _REQUEST, provider=provider, owner=owner))


def may_plan_loop(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may have the provider read for a loop plan: whoever may act on a name that the loop
    keeps."""
    for side in _sides_of(owner, provider):
        reach = fetch_reach(actor, _REQUEST, provider=provider, owner=side)
        if not reach or not ("" in reach or _is_any_kept_below(reach, provider, owner)):
            return False
    return True


def may_ask_for_run(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may have the loop run now. The run asks
    `find_names_beyond_rights` of all it changes."""
    return actor.has_scope("apply") and may_plan_loop(actor, provider, owner)


def find_names_beyond_rights(
    actor: Actor, provider: Provider, owner: Owner, names: Collection[str]
) -> list[str]:
    """Those of the names that the actor may not have a run change, in order."""
    denied: set[str] = set()
    for side in _sides_of(owner, provider):
        denied.update(find_names_out_of_reach(actor, _REQUEST, provider=provider, owner=side, names=names))
    return sorted(denied)


def _sides_of(owner: Owner, provider: Provider) -> tuple[Owner | None, ...]:
    """Without ownership (noop) a run changes unmanaged record sets, too."""
    profiles = [row.registry_profile for row in list_instances_at(owner, provider)]
    keeps_claims = all(profile is None or profile.registry.keeps_claims for profile in profiles)
    return (owner,) if keeps_claims else (owner, None)


def _is_any_kept_below(suffixes: Collection[str], provider: Provider, owner: Owner) -> bool:
    declared, owned = Q(), Q()
    for suffix in suffixes:
        declared |= Q(name=suffix) | Q(name__endswith=f".{suffix}")
        owned |= build_suffix_query(suffix)
    if DeclaredEndpoint.objects.filter(declared, loop__owner=owner, loop__provider=provider).exists():
        return True
    return RecordSet.objects.filter(
        owned, owner=owner, provider=provider, missing_since__isnull=True
    ).exists()


@dataclass(frozen=True)
class DeclaredSet:
    """All that an owner of dnsadmin's own wants at one provider, and how its loop goes about it.

    `provider_compares`: the loop will ask the provider which property values mean the same.
    """

    policy: str
    managed_types: frozenset[str]
    endpoints: Mapping[EndpointKey, Endpoint]
    provider_compares: bool = False


def fetch_declared_set(owner: Owner, provider: Provider) -> DeclaredSet | None:
    """What an owner's loop here keeps; None where no loop runs."""
    loop = _running(owner, provider)
    if loop is None:
        return None
    endpoints = {endpoint_key(each): each for each in fetch_declared(loop)}
    compares = provider.protocol == Provider.Protocol.PLUGIN
    return DeclaredSet(loop.policy, frozenset(loop.managed_types), endpoints, provider_compares=compares)


def find_declared_version(owner: Owner, provider: Provider) -> str:
    """A text that differs whenever the declared set may have changed; empty where no loop runs."""
    loop = _running(owner, provider)
    return "" if loop is None else f"{loop.declared_at} {loop.policy} {sorted(loop.managed_types)}"


def fetch_declared(loop: Loop) -> tuple[Endpoint, ...]:
    """The declared endpoints of a loop, as a source gives them."""
    rows = DeclaredEndpoint.objects.filter(loop=loop).order_by("name", "record_type", "set_identifier")
    return tuple(build_endpoint(row) for row in rows.iterator(chunk_size=2_000))


def build_endpoint(row: DeclaredEndpoint) -> Endpoint:
    """One row as the value that is planned with."""
    return Endpoint(
        dns_name=row.name,
        targets=tuple(row.targets),
        record_type=row.record_type,
        set_identifier=row.set_identifier,
        record_ttl=row.ttl,
        labels={RESOURCE: row.resource} if row.resource else {},
        provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in row.provider_specific),
    )


def _running(owner: Owner, provider: Provider) -> Loop | None:
    return Loop.objects.filter(owner=owner, provider=provider, is_enabled=True).first()
