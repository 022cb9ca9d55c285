"""Store what an instance wants, as what changed since it was posted last."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec
from django.db import transaction
from django.db.models import F

from providers.planning.plan import choose_new
from providers.registries.labels import RESOURCE
from providers.wire.canonical_name import endpoint_key, reversed_name
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.clock import fetch_now
from registry_app.models import DesiredEndpoint, DesiredSet, GuardEndpoint

_ROWS = 500
_KEY = ("name", "record_type", "set_identifier")
_VALUES = ("targets", "ttl", "provider_specific", "resource")
_encode = msgspec.json.Encoder().encode


def store_desired_set(guard_endpoint: GuardEndpoint, endpoints: Collection[Endpoint], set_aside: int) -> None:
    """Make these what the instance wants; `set_aside` others could not be read. One transaction.

    The same set in another order is the same: only its count and time change.
    """
    now, digest = fetch_now(), compute_set_digest(endpoints)
    with transaction.atomic():
        before = _fetch_or_begin(guard_endpoint, now)
        values: dict[str, object] = {"last_seen_at": now, "seen_count": F("seen_count") + 1}
        if before.seen_count:
            values["interval_seconds"] = max(int((now - before.last_seen_at).total_seconds()), 0)
        if before.digest != digest:
            values |= {"digest": digest, "endpoint_count": len(endpoints), "set_aside": set_aside}
            values |= {"first_seen_at": now, "seen_count": 1}
        # By compare-and-swap: of two posts at once to two replicas, the later one is left to the next post.
        same = DesiredSet.objects.filter(
            pk=guard_endpoint.pk, digest=before.digest, seen_count=before.seen_count
        )
        if same.update(**values) and before.digest != digest:
            _store_changed(guard_endpoint, _choose_one_each(endpoints), now)


def compute_set_digest(endpoints: Iterable[Endpoint]) -> str:
    """The same for the same endpoints in any order. Pure."""
    return hashlib.sha256(b"\n".join(sorted(map(_encode, endpoints)))).hexdigest()


def _fetch_or_begin(guard_endpoint: GuardEndpoint, now: datetime) -> DesiredSet:
    found = DesiredSet.objects.filter(pk=guard_endpoint.pk).first()
    if found is not None:
        return found
    row = DesiredSet(guard_endpoint=guard_endpoint, first_seen_at=now, last_seen_at=now, seen_count=0)
    DesiredSet.objects.bulk_create([row], ignore_conflicts=True)
    return DesiredSet.objects.get(pk=guard_endpoint.pk)


def _choose_one_each(endpoints: Iterable[Endpoint]) -> dict[EndpointKey, Endpoint]:
    """One for each identity: of several, the one that ExternalDNS would create."""
    candidates: dict[EndpointKey, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        candidates[endpoint_key(endpoint)].append(endpoint)
    return {key: choose_new(some) for key, some in candidates.items()}


def _store_changed(
    guard_endpoint: GuardEndpoint, wanted: Mapping[EndpointKey, Endpoint], now: datetime
) -> None:
    rows = DesiredEndpoint.objects.filter(guard_endpoint=guard_endpoint)
    known = {
        EndpointKey(*row[:3]): (row[3], row[4:])
        for row in rows.values_list(*_KEY, "pk", *_VALUES).iterator(chunk_size=5_000)
    }
    gone = [pk for key, (pk, _) in known.items() if key not in wanted]
    for start in range(0, len(gone), _ROWS):
        rows.filter(pk__in=gone[start : start + _ROWS]).delete()
    made = {key: _build_row(guard_endpoint, key, endpoint, now) for key, endpoint in wanted.items()}
    DesiredEndpoint.objects.bulk_create(
        [row for key, row in made.items() if key not in known], batch_size=_ROWS
    )
    changed = []
    for key, row in made.items():
        pk, values = known.get(key, (None, ()))
        if pk is not None and values != tuple(getattr(row, name) for name in _VALUES):
            row.pk = pk
            changed.append(row)
    DesiredEndpoint.objects.bulk_update(changed, [*_VALUES, "changed_at"], batch_size=_ROWS)


def _build_row(
    guard_endpoint: GuardEndpoint, key: EndpointKey, endpoint: Endpoint, now: datetime
) -> DesiredEndpoint:
    return DesiredEndpoint(
        guard_endpoint=guard_endpoint,
        **key._asdict(),
        name_reversed=reversed_name(key.name),
        targets=list(endpoint.targets),
        ttl=endpoint.record_ttl,
        provider_specific=[[each.name, each.value] for each in endpoint.provider_specific],
        resource=endpoint.labels.get(RESOURCE, ""),
        first_seen_at=now,
        changed_at=now,
    )
