"""Register, change and delete a provider."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from providers.http.address import parse_provider_url
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.inventory.address import split_address
from registry_app.inventory.approval_change import drop_pending_change, request_looser_approval
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.models import Grant, Provider
from registry_app.models.encrypted_field import find_secret_names
from registry_app.queries.approval_change import find_pending_change, find_stricter_namesake
from registry_app.queries.approval_policy import is_looser, pick_strictest
from registry_app.queries.dependents import find_provider_dependents
from registry_app.reconcile.sweep import note_duplicate_providers

# What decides whether a provider is registered twice, and how a finding names it.
_OF_DUPLICATES = frozenset({"url", "is_enabled", "name"})
_DEFAULT_POLICY = Provider.ApprovalPolicy.OTHER_PERSON
_CREDENTIALS = ("secret", "client_key", "url_query", "username")


def register_provider(actor: Actor, values: Mapping[str, Any]) -> Provider:
    """Store a provider; the scheduler syncs it at its next tick. If another one has the same
    address, a finding and `list_warnings` report it.

    Raises NotAllowed, RefusedBySafety (another provider at this address requires more approval), or
    InvalidRequest with the fields (bad URL, name taken, limits out of range).
    """
    raise_if_not_administrator(actor, "providers")
    wanted = split_address({"url": "", **values})
    _raise_if_looser_than_namesake(wanted["url"], wanted.get("approval_policy") or _DEFAULT_POLICY)
    with transaction.atomic():
        row = create_row(actor, Provider, wanted, action="provider.registered")
        note_duplicate_providers()
    return row


def change_provider(
    actor: Actor,
    provider_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Provider:
    """Change a provider. Its credentials are cleared if the origin of its URL changes and no new ones are
    given: what was entered for one place is never sent to another.

    A looser approval policy is only requested: it is effective once another administrator confirms it, or
    after a day. A stricter one is effective at once.

    Raises NotAllowed, NotFound, StateMoved, RefusedBySafety, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, "providers")
    stored = fetch_row(Provider, provider_id)
    values = _read_changes(stored, changes)
    policy = values.get("approval_policy")
    wants_looser = _is_policy(policy) and is_looser(stored.approval_policy, str(policy))
    if wants_looser:
        del values["approval_policy"]
    with transaction.atomic():
        row = change_row(
            actor,
            Provider,
            provider_id,
            values,
            action="provider.changed",
            expected_updated_at=expected_updated_at,
        )
        if wants_looser and policy is not None:
            request_looser_approval(actor, row, policy)
        elif policy is not None and (pending := find_pending_change(provider_id)):
            drop_pending_change(actor, pending)
        if not _OF_DUPLICATES.isdisjoint(values):
            note_duplicate_providers()
    return row


def delete_provider(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a provider. Its secrets and the grants for it go at once, its mirror within moments
    (`purge_deleted_providers`); finished transfers and runs keep its name. Nothing is sent to it.

    Raises NotAllowed, NotFound, StateMoved, or RefusedBySafety while something depends on it.
    """
    raise_if_not_administrator(actor, "providers")
    delete_row(
        actor,
        Provider,
        row_id,
        action="provider.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_provider_dependents,
        end=_end_provider,
    )


def _read_changes(stored: Provider, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be stored, with the credentials cleared that were entered for another origin."""
    values = split_address(changes)
    if "url" not in values:
        return values
    if values["url"] != stored.url:
        # A looser policy does not hold yet.
        wanted = values.get("approval_policy", stored.approval_policy)
        policy = pick_strictest(stored.approval_policy, wanted) if _is_policy(wanted) else wanted
        _raise_if_looser_than_namesake(values["url"], policy, besides=stored.pk)
    if parse_provider_url(stored.url).origin == parse_provider_url(values["url"]).origin:
        return values
    return {**dict.fromkeys(_CREDENTIALS, ""), **values}


def _raise_if_looser_than_namesake(url: str, policy: str, *, besides: int | None = None) -> None:
    """Raise RefusedBySafety if the same address under another name would require less approval."""
    if not _is_policy(policy):
        return  # its field is refused
    if found := find_stricter_namesake(url, policy, besides=besides):
        name, label = found[0], Provider.ApprovalPolicy(found[1]).label
        raise RefusedBySafety(
            f"The provider {name} at this address requires, or required until it was deleted, more approval: "
            f"{label}. Under a second name it would require less.",
            todo=f"Set the approval of this one to “{label}”, too. You can request a looser policy "
            "afterwards.",
            code="looser_than_namesake",
        )


def _is_policy(value: object) -> bool:
    return value in Provider.ApprovalPolicy.values


def _end_provider(row: Provider) -> None:
    # The epoch ends the lease of a sync that is under way: what it read is not stored any more.
    Provider.objects.filter(pk=row.pk).update(
        deleted_at=fetch_now(),
        is_enabled=False,
        username="",
        lease_epoch=F("lease_epoch") + 1,
        **dict.fromkeys(find_secret_names(Provider), ""),
    )
    Grant.objects.filter(provider=row).delete()
    note_duplicate_providers()
