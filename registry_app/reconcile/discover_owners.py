"""Owner ids seen in claims become rows, so that a person can say where they run."""

from collections.abc import Iterable

from django.db import transaction

from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from registry_app.models import Owner, Provider
from registry_app.reconcile.lease import Lease, raise_if_lost

_SHOWN = 100


def discover_owners(lease: Lease, provider: Provider, owner_ids: Iterable[str]) -> dict[str, int]:
    """The primary keys of all owners; new ones of `owner_ids` are stored as discovered.

    One transaction, fenced, and one audit line however many there are. Raises LeaseLost.
    """
    keys = _fetch_keys()
    # In one order everywhere: two syncs that discover the same owners must not wait for each other.
    unknown = sorted(set(owner_ids) - keys.keys())
    if not unknown:
        return keys
    with transaction.atomic():
        raise_if_lost(lease)
        Owner.objects.bulk_create(
            [Owner(owner_id=owner_id) for owner_id in unknown], batch_size=500, ignore_conflicts=True
        )
        record_audit(
            SYSTEM,
            "owner.discovered",
            provider,
            after={"count": len(unknown), "owner_ids": unknown[:_SHOWN]},
        )
    return _fetch_keys()


def _fetch_keys() -> dict[str, int]:
    # They are few beside record sets, and an IN list has a limit.
    return dict(Owner.objects.order_by().values_list("owner_id", "pk").iterator())
