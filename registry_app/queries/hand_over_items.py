"""The names of hand-overs: what the new owner wants there, and what is live."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet

from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import HandOver, HandOverItem, RecordSet
from registry_app.queries.desired_set import fetch_desired_facts
from registry_app.queries.freeze import fetch_stops
from registry_app.queries.instance import fetch_instances_at
from registry_app.queries.named_row import read_name
from registry_app.queries.record_set import build_endpoint_of

Wanted = Mapping[str, list[Endpoint]]


@dataclass(frozen=True)
class LiveRecordSet:
    """A record set as the mirror has it, and its owner id; empty if nobody owns it."""

    endpoint: Endpoint
    owner_id: str


@dataclass(frozen=True)
class ItemFacts:
    """A name of a hand-over: what the new owner wants there, by its fresh desired sets, and what is live.
    `kept` is why the guard keeps it as it is, from the instances of either owner; empty if it does not."""

    item: HandOverItem
    wanted: list[Endpoint] = field(default_factory=list)
    live: list[LiveRecordSet] = field(default_factory=list)
    kept: str = ""


def fetch_wanted(row: HandOver, names: Collection[str]) -> Wanted:
    """What the instances of the new owner want at the names, by name; from fresh desired sets alone."""
    owner_id = row.to_owner.owner_id
    instances = {each.name: each for each in fetch_instances_at(row.provider).get(owner_id, ())}
    wanted: dict[str, list[Endpoint]] = defaultdict(list)
    for name, facts in fetch_desired_facts(owner_id, row.provider_id, names).items():
        instance = instances.get(name)
        if facts.is_stale or instance is None:
            continue
        for key, endpoint in facts.endpoints.items():
            if instance.matches(key.name) and instance.manages(key.record_type):
                wanted[key.name].append(endpoint)
    return wanted


def fetch_live(row: HandOver, names: Collection[str]) -> dict[EndpointKey, Endpoint]:
    """The record sets of the new owner at the names, by the mirror."""
    rows = RecordSet.objects.filter(
        provider=row.provider, owner=row.to_owner, name__among=names, missing_since__isnull=True
    )
    return {
        EndpointKey(each.name, each.record_type, each.set_identifier): build_endpoint_of(each)
        for each in rows
    }


def fetch_item_facts(row: HandOver, items: Iterable[HandOverItem]) -> list[ItemFacts]:
    """These names with what is wanted and what is live there."""
    listed = list(items)
    names = [item.name for item in listed]
    wanted = fetch_wanted(row, names)
    live: dict[str, list[LiveRecordSet]] = defaultdict(list)
    rows = RecordSet.objects.filter(provider=row.provider, name__among=names, missing_since__isnull=True)
    for each in rows.select_related("owner").order_by("name", "record_type", "set_identifier"):
        owner_id = each.owner.owner_id if each.owner else ""
        live[each.name].append(LiveRecordSet(build_endpoint_of(each), owner_id))
    stops = [fetch_stops(row.provider, owner.owner_id) for owner in (row.to_owner, row.from_owner)]
    return [
        ItemFacts(
            item,
            list(wanted.get(item.name, ())),
            live.get(item.name, []),
            next((kept for each in stops if (kept := each.find(item.name))), ""),
        )
        for item in listed
    ]


def list_items(
    row: HandOver, *, state: str = "", wave: int | None = None, name_suffix: str = ""
) -> QuerySet[HandOverItem]:
    """The names of a hand-over: those in a state, of a wave, at or below a name in any spelling."""
    rows = HandOverItem.objects.filter(hand_over=row).select_related("transfer")
    if state:
        rows = rows.filter(state=state)
    if wave is not None:
        rows = rows.filter(wave=wave)
    if name_suffix.strip():
        name = read_name(name_suffix)
        rows = rows.filter(Q(name=name) | Q(name__endswith=f".{name}"))
    return rows


def list_moved_names(row: HandOver) -> Sequence[str]:
    """The names that went to the new owner."""
    state = HandOverItem.State
    moved = row.items.filter(state__in=(state.MOVED, state.SERVING)).order_by("name")
    return list(moved.values_list("name", flat=True))
