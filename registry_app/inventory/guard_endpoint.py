"""Register, change and delete a guard endpoint, and issue the credential of its instance."""

import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.inventory.network import find_network_problems
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
    take_version,
)
from registry_app.models import GuardEndpoint, Instance, Provider
from registry_app.queries.dependents import find_guard_dependents
from registry_app.queries.guard_credential import compute_password_hash, is_credential_right

_NOUN = "guard endpoints"
_MODE = GuardEndpoint.Mode
_FIXED = ("provider", "instance")
_BYTES_OF_PASSWORD = 24
# It becomes a part of a URL and of a header: no colon, no blank, nothing to escape.
_USERNAME = re.compile(r"\A[A-Za-z0-9._~-]{1,100}\Z")
# The guard's own paths, and the first part of the path if somebody leaves out the slug.
_RESERVED = frozenset({"healthz", "readyz", "metrics", "records", "adjustendpoints"})


def register_guard_endpoint(actor: Actor, values: Mapping[str, Any]) -> GuardEndpoint:
    """Store a guard endpoint: the instance is answered there at once, without a credential.

    Raises NotAllowed, or InvalidRequest with the fields: an instance that writes through another provider,
    or has a guard endpoint here; a provider that is switched off or deleted; bad networks or limits; a view
    of an owner without name patterns.
    """
    raise_if_not_administrator(actor, _NOUN)
    _raise_if_bad_values(values)
    provider, instance = values.get("provider"), values.get("instance")
    with transaction.atomic():
        if isinstance(provider, Provider):
            _raise_if_not_in_use(provider)
            if isinstance(instance, Instance):
                _raise_if_elsewhere(provider, instance)
        if isinstance(instance, Instance):
            _raise_if_view_of_everything(instance, values)
            _raise_if_claims_would_pass(instance, values.get("mode", _MODE.OBSERVE), provider)
        return create_row(actor, GuardEndpoint, values, action="guard_endpoint.registered")


def change_guard_endpoint(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> GuardEndpoint:
    """Change the path, networks and limits of a guard endpoint. Its provider and instance stay; its mode and
    credential have functions of their own.

    Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, _NOUN)
    row = fetch_row(GuardEndpoint, row_id)
    moved = [name for name in _FIXED if name in changes and changes[name] != getattr(row, name)]
    if moved:
        raise InvalidRequest(
            "The provider and the instance of a guard endpoint cannot be changed.",
            todo="Register another guard endpoint, point the instance to it, and delete this one.",
            fields={name: ["It stays as it was registered."] for name in moved},
        )
    if changes.get("mode", row.mode) != row.mode:
        raise InvalidRequest(
            "The mode is not changed together with the settings.",
            todo="Change it by its own button, POST .../mode/, or dnsadmin_guard mode.",
            fields={"mode": ["It is changed by itself."]},
        )
    _raise_if_bad_values(changes)
    _raise_if_view_of_everything(row.instance, changes)
    return change_row(
        actor,
        GuardEndpoint,
        row_id,
        {name: value for name, value in changes.items() if name != "mode"},
        action="guard_endpoint.changed",
        expected_updated_at=expected_updated_at,
    )


def change_guard_mode(
    actor: Actor, row_id: int, *, mode: str, reason: str = "", expected_updated_at: datetime | None = None
) -> GuardEndpoint:
    """Change what the guard does with what the instance asks. It counts from its next request.

    Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, _NOUN)
    row = fetch_row(GuardEndpoint, row_id)
    _raise_if_claims_would_pass(row.instance, mode, row.provider)
    return change_row(
        actor,
        GuardEndpoint,
        row_id,
        {"mode": mode},
        action="guard_endpoint.mode_changed",
        expected_updated_at=expected_updated_at,
        reason=reason,
    )


def issue_guard_credential(actor: Actor, row_id: int, *, username: str = "") -> tuple[GuardEndpoint, str]:
    """Make a password for the instance and give it; it is never shown again, and an older one stops working.

    `username` is the slug if none is given. Raises NotAllowed, NotFound, or InvalidRequest with the field.
    """
    raise_if_not_administrator(actor, _NOUN)
    row = fetch_row(GuardEndpoint, row_id)
    wanted = username or row.slug
    if not _USERNAME.match(wanted):
        raise InvalidRequest(
            "This user name cannot be used in a URL.",
            fields={"username": ["Use 1 to 100 letters, digits, hyphens, dots, tildes and underscores."]},
        )
    password = secrets.token_hex(_BYTES_OF_PASSWORD)
    values = {"username": wanted, "password_hash": compute_password_hash(password)}
    _store_credential(actor, row, values, action="guard_endpoint.credential_issued")
    return row, password


def remove_guard_credential(actor: Actor, row_id: int) -> GuardEndpoint:
    """Let the instance come without a credential from now on. Raises NotAllowed, NotFound, or StateMoved if
    there is none."""
    raise_if_not_administrator(actor, _NOUN)
    row = fetch_row(GuardEndpoint, row_id)
    if not row.password_hash:
        raise StateMoved(f"{row} has no credential.", todo="There is nothing to do.")
    values = {"username": "", "password_hash": ""}
    _store_credential(actor, row, values, action="guard_endpoint.credential_removed")
    return row


def delete_guard_endpoint(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a guard endpoint and what its instance wants. Nothing is sent to the provider.

    Raises as `delete_provider`."""
    raise_if_not_administrator(actor, _NOUN)
    delete_row(
        actor,
        GuardEndpoint,
        row_id,
        action="guard_endpoint.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_guard_dependents,
        end=GuardEndpoint.delete,
    )


def verify_credential(row: GuardEndpoint, username: str, password: str) -> bool:
    """Whether these are the user name and password of a guard endpoint, in a time that does not depend on
    them. Always true where it has no credential."""
    if not row.password_hash:
        return True
    return is_credential_right(row.username, row.password_hash, username, password)


def _store_credential(actor: Actor, row: GuardEndpoint, values: dict[str, str], *, action: str) -> None:
    before = {"username": row.username}
    with transaction.atomic():
        take_version(row, None)
        GuardEndpoint.objects.filter(pk=row.pk).update(**values)
        record_audit(actor, action, row, before=before, after={"username": values["username"]})
    row.refresh_from_db()


def _raise_if_bad_values(values: Mapping[str, Any]) -> None:
    fields: dict[str, list[str]] = {}
    networks = values.get("networks")
    if isinstance(networks, list) and (problems := find_network_problems(networks)):
        fields["networks"] = problems
    if values.get("slug") in _RESERVED:
        fields["slug"] = [f"{values['slug']} is a path that the guard itself answers. Choose another one."]
    if fields:
        raise InvalidRequest("Guard endpoint is not valid.", fields=fields)


def _raise_if_not_in_use(provider: Provider) -> None:
    """Raise InvalidRequest for a provider that is switched off or deleted. The update changes nothing:
    whoever deletes the provider at this moment waits, or was first."""
    if not Provider.objects.filter(pk=provider.pk, is_enabled=True).update(is_enabled=True):
        raise _refuse_provider(f"{provider} is switched off or deleted. Switch its syncs on first.")


def _raise_if_elsewhere(provider: Provider, instance: Instance) -> None:
    """Raise InvalidRequest for an instance that is known to write through another provider."""
    if instance.provider_id not in (None, provider.pk):
        raise _refuse_provider(
            f"The instance {instance} writes through {instance.provider}. Choose that provider, or change it "
            "at the instance first."
        )


def _raise_if_view_of_everything(instance: Instance, values: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a view that would be the whole zone."""
    if values.get("has_own_view") and not instance.owner.name_patterns:
        raise InvalidRequest(
            f"{instance.owner} has no name patterns, so its view would be everything.",
            fields={"has_own_view": ["Give the owner of the instance name patterns first."]},
        )


def _raise_if_claims_would_pass(instance: Instance, mode: object, provider: object) -> None:
    """Raise InvalidRequest where the guard is to keep the claims of an instance, and would not do that."""
    profile = instance.registry_profile
    if profile is None or not profile.registry.is_behind_guard:
        return
    if mode == _MODE.OBSERVE:
        raise InvalidRequest(
            f"The guard keeps the claims of {instance}, by its registry profile {profile}. In the mode "
            "observe it would send them to the provider.",
            todo="Give the instance another registry profile first.",
            fields={"mode": ["Choose enforce, dry_run or paused."]},
        )
    if profile.providers.first() != provider:
        raise _refuse_provider(f"The registry profile {profile} of the instance keeps claims of another one.")


def _refuse_provider(problem: str) -> InvalidRequest:
    return InvalidRequest("The guard endpoint cannot be registered.", fields={"provider": [problem]})
