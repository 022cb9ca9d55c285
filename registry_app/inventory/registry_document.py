"""The registry of an owner as a document: exported, and restored."""

from collections.abc import Iterator, Sequence

import msgspec
from django.db import transaction

from providers.http.errors import OutcomeUnknown, ProviderError
from providers.registries.errors import RegistryError
from providers.registries.export import Export
from providers.stores.registry import ExportableStore
from providers.stores.registry_catalogue import REGISTRIES
from providers.wire.endpoint import EndpointKey
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, LeaseLost, RefusedBySafety, StateMoved
from registry_app.inventory.registry_profile import raise_if_may_not_read
from registry_app.inventory.rows import raise_if_not_administrator
from registry_app.mirror.open_stores import open_store
from registry_app.models import Provider, RecordSet, RegistryProfile
from registry_app.outside_copy import announce_send, count_send
from registry_app.queries.freeze import find_owner_stops
from registry_app.reconcile.lease import raise_if_lost, release_lease, renew_lease, take_lease
from registry_app.reconcile.sync import name_holder

# Reading, writing all shards and looking again.
_REQUESTS = 10
_CHUNK = 500


def export_registry(actor: Actor, profile: RegistryProfile, owner_id: str) -> bytes:
    """The whole registry of an owner as one document; nothing changes. Empty: of all owners, where the kind
    of registry can.

    Raises NotAllowed, InvalidRequest where there is no such registry, StateMoved where it cannot be read.
    """
    provider = _find_provider(profile)
    raise_if_may_not_read(actor, profile, provider)
    try:
        return _open(profile, provider).export(owner_id, when=fetch_now())
    except (ProviderError, RegistryError) as error:
        raise _refuse(error) from error


def restore_registry(actor: Actor, profile: RegistryProfile, document: bytes) -> Export:
    """Bring a document back: rows that are not there are written, rows that are there stay. Claims for what
    the mirror knows to be another owner's by now are left out, and counted in what is returned.

    Under the lease of the profile's provider, with an audit line before. Cut short, it is completed by doing
    it again. Raises NotAllowed, InvalidRequest for a document that cannot be used, RefusedBySafety in a
    freeze, LeaseLost where somebody else is there, StateMoved where something contradicts it.
    """
    raise_if_not_administrator(actor, "registries")
    provider = _find_provider(profile)
    export = _read_document(document, profile, provider)
    for owner_id in sorted(_list_owners(export)):
        for stop in find_owner_stops(provider, owner_id, in_part=True):
            raise RefusedBySafety(stop.happened, todo=stop.todo, code=stop.code)
    lease = take_lease(provider.pk, f"restore {name_holder()}")
    if lease is None:
        raise LeaseLost(f"Another worker has {provider} right now.", todo="Try again soon.")
    try:
        lease = renew_lease(lease, seconds=_REQUESTS * provider.deadline_seconds)
        with transaction.atomic():
            raise_if_lost(lease)
            export = _leave_out_moved(export, provider)
            after = {
                "owner_id": export.owner_id,
                "rows": len(export.rows),
                "intents": len(export.intents),
                "left_out": export.left_out,
            }
            record_audit(actor, "registry_profile.restoring", profile, after=after)
            count_send()
        announce_send()
        _open(profile, provider).restore(export)
    except (ProviderError, RegistryError) as error:
        raise _refuse(error) from error
    finally:
        release_lease(lease)
    return export


def _read_document(document: bytes, profile: RegistryProfile, provider: Provider) -> Export:
    try:
        return _open(profile, provider).parse_export(document, max_items=provider.max_items)
    except RegistryError as error:
        raise InvalidRequest(str(error), fields={"document": [str(error)]}) from error
    except ProviderError as error:
        raise _refuse(error) from error


def _list_owners(export: Export) -> set[str]:
    """Whose claims a document has. What a ConfigMap says of other owners is none."""
    return {export.owner_id} if export.owner_id else {str(row.owner_id) for row in export.rows}


def _leave_out_moved(export: Export, provider: Provider) -> Export:
    """Without the claims for record sets that were moved since: their former instance would take them for its
    own again, and change or delete them."""
    owners = _list_owners(export)
    rows = [row for row in (*export.rows, *export.intents) if row.owner_id in owners]
    names = sorted({row.key.name for row in rows})
    known = {
        key: owner_id
        for start in range(0, len(names), _CHUNK)
        for key, owner_id in _find_owners(provider, names[start : start + _CHUNK])
    }
    moved = {row.key for row in rows if known.get(row.key, row.owner_id) != row.owner_id}
    claims = {row.key for row in export.rows if row.owner_id in owners} & moved
    return msgspec.structs.replace(
        export,
        rows=tuple(row for row in export.rows if row.key not in claims),
        intents=tuple(row for row in export.intents if row.key not in moved),
        left_out=export.left_out + len(claims) + sum(row.key in moved for row in export.intents),
    )


def _find_owners(provider: Provider, names: Sequence[str]) -> Iterator[tuple[EndpointKey, str]]:
    """The record sets at these names that somebody has, and who."""
    present = RecordSet.objects.filter(provider=provider, name__in=names, owner__isnull=False)
    fields = ("name", "record_type", "set_identifier", "owner__owner_id")
    for *key, owner_id in present.filter(missing_since__isnull=True).values_list(*fields):
        yield EndpointKey(*key), owner_id


def _find_provider(profile: RegistryProfile) -> Provider:
    provider = profile.providers.first()
    if not profile.registry.can_export or provider is None:
        exportable = [kind for kind in REGISTRIES.values() if kind.can_export]
        raise InvalidRequest(
            f"{profile} is no {' or '.join(kind.label for kind in exportable)} registry.",
            fields={"profile": [f"Name one of kind {' or '.join(kind.name for kind in exportable)}."]},
        )
    return provider


def _open(profile: RegistryProfile, provider: Provider) -> ExportableStore:
    store = open_store(profile, provider, None).store
    if not isinstance(store, ExportableStore):
        raise TypeError(f"The store of {profile} has no documents.")
    return store


def _refuse(error: ProviderError | RegistryError) -> StateMoved:
    hint = error.hint if isinstance(error, ProviderError) else ""
    code = error.code if isinstance(error, ProviderError) else "unreadable_registry"
    if isinstance(error, OutcomeUnknown):
        return StateMoved(str(error), now="A part of it may have been written.", todo=hint, code=code)
    return StateMoved(str(error), todo=hint or "Check the registry, and try again.", code=code)
