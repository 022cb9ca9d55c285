"""The instances behind the guard at a provider, and the owners of which it is known all that they want."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from providers.wire.domain_filter import DomainFilter
from registry_app.models import GuardEndpoint, Provider
from registry_app.queries.guard_endpoint import (
    find_desired_set,
    is_stale,
    list_guard_endpoints,
    list_known_instances,
)
from registry_app.reconcile.contention.units import DEFAULT_TYPES, Wisher


@dataclass(frozen=True)
class Wishers:
    """`complete`: by owner id, the owners whose instances here all have a desired set that is not stale, with
    since when these are what they are. `inputs` is a digest of all that contention is computed from."""

    by_guard_endpoint: dict[int, Wisher]
    complete: dict[str, datetime]
    inputs: str


def fetch_wishers(provider: Provider, now: datetime) -> Wishers:
    """Database read: three queries."""
    rows = list(list_guard_endpoints().filter(provider=provider, desired_set__isnull=False).order_by("pk"))
    wishers = {row.pk: _build_wisher(row, now) for row in rows}
    complete = _find_complete(provider, rows, wishers)
    described = [
        provider.accepted_digest,
        [
            (
                row.pk,
                _digest_of(row),
                wisher.is_stale,
                wisher.slug,
                wisher.owner_id,
                wisher.instance,
                wisher.mode,
            )
            for row, wisher in zip(rows, wishers.values(), strict=True)
        ],
        [
            (row.instance.domain_include, row.instance.domain_exclude, row.instance.managed_types)
            for row in rows
        ],
        sorted(complete),
    ]
    return Wishers(wishers, complete, hashlib.sha256(msgspec.json.encode(described)).hexdigest())


def _find_complete(
    provider: Provider, rows: Sequence[GuardEndpoint], wishers: dict[int, Wisher]
) -> dict[str, datetime]:
    known = {row.instance_id: wishers[row.pk] for row in rows if not wishers[row.pk].is_stale}
    return {
        owner_id: max(known[pk].set_since for pk in pks)
        for owner_id, pks in list_known_instances(provider, known.keys()).items()
    }


def _build_wisher(row: GuardEndpoint, now: datetime) -> Wisher:
    desired, instance = find_desired_set(row), row.instance
    if desired is None:
        raise ValueError("a guard endpoint without a desired set")
    return Wisher(
        guard_endpoint_id=row.pk,
        slug=row.slug,
        instance=instance.name,
        owner_pk=instance.owner_id,
        owner_id=instance.owner.owner_id,
        mode=row.mode,
        is_stale=is_stale(desired, now),
        set_since=desired.first_seen_at,
        domain_filter=DomainFilter(tuple(instance.domain_include), tuple(instance.domain_exclude)),
        managed_types=frozenset(instance.managed_types) or DEFAULT_TYPES,
    )


def _digest_of(row: GuardEndpoint) -> str:
    desired = find_desired_set(row)
    return desired.digest if desired is not None else ""
