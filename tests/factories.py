"""Rows for tests, with the cast's names. Each gives what the test does not name a sensible value."""

import itertools
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from providers.wire.canonical_name import reversed_name
from registry_app.inventory.owner import INSTANCE_FIELDS
from registry_app.models import (
    Claim,
    Cluster,
    Contention,
    DesiredEndpoint,
    DesiredSet,
    Finding,
    GuardDecision,
    GuardEndpoint,
    GuardRule,
    GuardStep,
    HeldDelete,
    Instance,
    Owner,
    OwnershipState,
    Provider,
    RecordSet,
)
from registry_app.queries.kept_count import COUNTED
from registry_app.reconcile.kept_counts import note_inserted

_numbers = itertools.count(1)


def make_user(username: str = "alice", **values: Any) -> User:
    """A person who may log in to the web admin; nothing more unless said."""
    return User.objects.create_user(username, password="correct horse battery", is_staff=True, **values)


def make_administrator(username: str = "root", **values: Any) -> User:
    return make_user(username, is_superuser=True, **values)


def make_provider(name: str = "blue-zone", **values: Any) -> Provider:
    return Provider.objects.create(**{"name": name, "url": "http://127.0.0.1:8888", **values})


def make_cluster(name: str = "blue", **values: Any) -> Cluster:
    return Cluster.objects.create(name=name, **values)


def make_owner(owner_id: str = "blue-cluster", **values: Any) -> Owner:
    """An owner; with policy, cluster or registry profile among the values, also its only instance."""
    own = {name: value for name, value in values.items() if name not in INSTANCE_FIELDS}
    owner = Owner.objects.create(**{"owner_id": owner_id, "status": Owner.Status.REGISTERED, **own})
    if own != values:
        set_instance(owner, **{name: values[name] for name in values if name in INSTANCE_FIELDS})
    return owner


def make_instance(owner: Owner, name: str = "blue", **values: Any) -> Instance:
    return Instance.objects.create(owner=owner, name=name, **values)


def set_instance(owner: Owner | str, **values: Any) -> Instance:
    """What the only instance of an owner says, whether it was there or not."""
    row = owner if isinstance(owner, Owner) else Owner.objects.get(owner_id=owner)
    known = row.instances.first()
    instance, _ = Instance.objects.update_or_create(
        owner=row, name=known.name if known else "external-dns", defaults=values
    )
    return instance


def make_record_set(provider: Provider, name: str = "www.example.org", **values: Any) -> RecordSet:
    """A record set at `provider`: owned if an `owner` is named, otherwise unmanaged."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "name_reversed": reversed_name(name),
        "record_type": "A",
        "targets": ["192.0.2.1"],
        "state": OwnershipState.OWNED if values.get("owner") else OwnershipState.UNMANAGED,
        "digest": next(_numbers).to_bytes(16, "big"),
        "first_seen_at": now,
        "changed_at": now,
    }
    row = RecordSet.objects.create(provider=provider, name=name, **{**defaults, **values})
    note_row(row)
    return row


def make_finding(**values: Any) -> Finding:
    now = timezone.now()
    defaults: dict[str, Any] = {
        "fingerprint": next(_numbers).to_bytes(16, "big"),
        "kind": Finding.Kind.CONFLICT,
        "severity": Finding.Severity.WARNING,
        "explanation": "Two claims disagree.",
        "first_seen_at": now,
        "last_seen_at": now,
    }
    row = Finding.objects.create(**{**defaults, **values})
    note_row(row)
    return row


def note_row(row: RecordSet | Claim | Finding) -> None:
    """Keep the counts, as whatever writes such rows does."""
    columns = COUNTED[type(row)].columns
    note_inserted(type(row), columns, [tuple(getattr(row, column) for column in columns)])


def make_guard_endpoint(
    instance: Instance | None = None, provider: Provider | None = None, **values: Any
) -> GuardEndpoint:
    """A guard endpoint; without an instance or provider, of new ones with the cast's names."""
    return GuardEndpoint.objects.create(
        **{
            "slug": f"guard-{next(_numbers)}",
            "instance": instance or make_instance(make_owner()),
            "provider": provider or make_provider(),
            **values,
        }
    )


def make_held_delete(row: GuardEndpoint, name: str = "www.example.org", **values: Any) -> HeldDelete:
    """A delete that the instance asked for just now, and that waits."""
    now = timezone.now()
    defaults = {
        "record_types": ["A"],
        "rule": GuardRule.DELETE_SHARE,
        "reason": "It would have deleted or retargeted 9 of the 10 record sets of its owner.",
        "asked_at": now,
        "last_asked_at": now,
    }
    return HeldDelete.objects.create(guard_endpoint=row, name=name, **{**defaults, **values})


def make_guard_decision(row: GuardEndpoint, name: str = "www.example.org", **values: Any) -> GuardDecision:
    """What the guard refused the instance just now."""
    now = timezone.now()
    defaults = {
        "outcome": GuardDecision.Outcome.REFUSED,
        "rule": GuardRule.NOT_OWNER,
        "asked": "delete A",
        "reason": "It is owned by green-cluster.",
        "first_at": now,
        "last_at": now,
    }
    return GuardDecision.objects.create(guard_endpoint=row, name=name, **{**defaults, **values})


def make_guard_step(row: GuardEndpoint, *names: str, **values: Any) -> GuardStep:
    """A change set that was sent for the instance, and read back: it deletes an A at each name."""
    item = {"record_type": "A", "set_identifier": "", "action": "delete", "is_claim": False}
    defaults = {
        "slug": row.slug,
        "status": GuardStep.Status.VERIFIED,
        "change_set": "{}",
        "body_digest": "d",
        "epoch": 1,
        "stored_at": timezone.now(),
        "items": [{**item, "name": name, "outcome": "verified"} for name in names],
        "deletes": len(names),
    }
    return GuardStep.objects.create(guard_endpoint=row, provider=row.provider, **{**defaults, **values})


def make_contention(provider: Provider, name: str = "www.example.org", **values: Any) -> Contention:
    """A name that is wanted and not there."""
    return Contention.objects.create(
        **{
            "provider": provider,
            "kind": Contention.Kind.ABSENT,
            "name": name,
            "name_reversed": reversed_name(name),
            "record_types": ["A"],
            "advice": "Wait for the next sync.",
            "since": timezone.now(),
            "digest": b"d" * 16,
            **values,
        }
    )


def make_desired_set(row: GuardEndpoint, *names: str, **values: Any) -> DesiredSet:
    """What the instance posted last, just now: an A for each name."""
    now = timezone.now()
    at = values.get("last_seen_at", now)
    for name in names:
        DesiredEndpoint.objects.create(
            guard_endpoint=row,
            name=name,
            name_reversed=reversed_name(name),
            record_type="A",
            targets=["192.0.2.1"],
            ttl=300,
            resource="ingress/shop/www",
            first_seen_at=at,
            changed_at=at,
        )
    defaults = {"digest": "d", "endpoint_count": len(names), "first_seen_at": at, "last_seen_at": at}
    return DesiredSet.objects.create(guard_endpoint=row, **{**defaults, "interval_seconds": 60, **values})
