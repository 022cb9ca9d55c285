"""What an instance is told it wants, so that it does not ask for what it would not get.

ExternalDNS keeps what `/adjustendpoints` gives back with the values that are there, and does not create what
is left out.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.claim_reading import read_statement
from providers.registries.errors import RegistryError
from providers.registries.gather import Record
from providers.registries.txt_names import format_txt_name
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.clock import fetch_now
from registry_app.guard.deadline import Deadline
from registry_app.guard.holds import end_held
from registry_app.guard.unit import UnitKey
from registry_app.guard.view_readings import ViewReader
from registry_app.mirror.registries import fetch_instance_profile
from registry_app.models import GuardEndpoint, HeldDelete, Instance, RecordSet
from registry_app.queries.freeze import Stops, fetch_stops
from registry_app.queries.instance import build_facts

_ROWS = 500
_FORCE_UPDATE = ProviderSpecificProperty("txt/force-update", "true")


@dataclass(frozen=True)
class _Kept:
    """The units that stay as they are, and the names that are frozen or pinned."""

    units: Collection[UnitKey]
    stops: Stops

    def has(self, key: EndpointKey) -> bool:
        return (key.name, key.set_identifier) in self.units or bool(self.stops.find(key.name))


def give_back(
    endpoint: GuardEndpoint, desired: Sequence[Endpoint], reader: ViewReader, deadline: Deadline
) -> list[Endpoint]:
    """The desired endpoints, with what is frozen or held as it is there, and without what the owner is not
    responsible for and does not have. A held or released delete of what is wanted again ends. Raises
    Unavailable."""
    keyed = [(_find_key(each), each) for each in desired]
    wanted = {(key.name, key.set_identifier) for key, _ in keyed if key is not None}
    stops = fetch_stops(endpoint.provider, endpoint.instance.owner.owner_id, fetch_now())
    held = _fetch_held(endpoint, *HeldDelete.STOPPING)
    again = (held | _fetch_held(endpoint, HeldDelete.Status.RELEASED)) & wanted
    end_held(endpoint, (unit for unit in again if not stops.find(unit[0])), HeldDelete.Status.WANTED)
    kept = _Kept(held - wanted, stops)
    outside = _find_outside(endpoint, {key.name for key, _ in keyed if key is not None})
    passing = [each for key, each in keyed if key is None or not (kept.has(key) or key.name in outside)]
    if not (kept.units or stops.freezes):
        return passing
    live = decode_records(reader.read(endpoint, deadline).body, max_items=endpoint.provider.max_items)
    return [*passing, *_list_as_seen(endpoint.instance, _list_kept(live.endpoints, kept), live.endpoints)]


def _fetch_held(endpoint: GuardEndpoint, *statuses: HeldDelete.Status) -> set[UnitKey]:
    rows = HeldDelete.objects.filter(guard_endpoint=endpoint, status__in=statuses)
    return set(rows.order_by().values_list("name", "set_identifier"))


def _find_outside(endpoint: GuardEndpoint, names: Collection[str]) -> set[str]:
    """The names its owner is not responsible for and has nothing at. What it has there is not left out: the
    instance would delete it."""
    owner = endpoint.instance.owner
    if not owner.name_patterns:
        return set()
    patterns = DomainFilter(include=tuple(owner.name_patterns))
    outside = sorted(name for name in names if not patterns.matches(name))
    owned: set[str] = set()
    for start in range(0, len(outside), _ROWS):
        rows = RecordSet.objects.filter(
            provider=endpoint.provider, name__in=outside[start : start + _ROWS], missing_since__isnull=True
        )
        owned.update(rows.values_list("name", flat=True))
    return set(outside) - owned


def _list_kept(live: Iterable[Endpoint], kept: _Kept) -> Iterator[Endpoint]:
    for each in live:
        key = _find_key(each)
        if key is not None and kept.has(key) and not _is_claim(key, each):
            yield each


def _list_as_seen(
    instance: Instance, records: Iterable[Endpoint], live: Iterable[Endpoint]
) -> Iterator[Endpoint]:
    """The record sets as the instance sees them: it marks what has no claim of today's format, and would
    update what is given back without the mark."""
    profile, facts = fetch_instance_profile(instance), build_facts(instance, instance.owner.owner_id)
    texts = {each.dns_name.lower() for each in live if each.record_type == "TXT"}
    for each in records:
        if profile is None or not facts.manages(each.record_type) or _has_claim_name(each, profile, texts):
            yield each
        else:
            properties = (*each.provider_specific, _FORCE_UPDATE)
            yield msgspec.structs.replace(each, provider_specific=properties)


def _has_claim_name(record: Endpoint, profile: TxtProfile, texts: Collection[str]) -> bool:
    try:
        return format_txt_name(record.dns_name, record.record_type, profile).lower() in texts
    except (WireError, RegistryError):
        return True  # it never has one


def _is_claim(key: EndpointKey, endpoint: Endpoint) -> bool:
    """Whether it is nothing but claims. What may be an encrypted one counts: nobody wants that for itself."""
    if key.record_type != "TXT":
        return False
    record = Record(key, endpoint, 0)
    return all(read_statement(record, target, ()) is not None for target in endpoint.targets)


def _find_key(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None
