"""Rows for tests, with the cast's names. Each gives what the test does not name a sensible value."""

import itertools
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from providers.wire.canonical_name import reversed_name
from registry_app.inventory.owner import INSTANCE_FIELDS
from registry_app.models import Cluster, Finding, Instance, Owner, OwnershipState, Provider, RecordSet

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
    return RecordSet.objects.create(provider=provider, name=name, **{**defaults, **values})


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
    return Finding.objects.create(**{**defaults, **values})
