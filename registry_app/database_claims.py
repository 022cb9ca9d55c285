"""Claims in our own database: a registry store like the others, and its rows for whoever has a transaction.

All changes of one registry profile wait for each other at its row, so that a row is compared and changed by
one writer at a time. Each of them gives the profile another version: an unchanged store is not read again.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from providers.http.errors import NothingSent, OutcomeUnknown, ProviderError
from providers.registries.claims_document import format_claims_document, parse_claims_document
from providers.registries.export import Export
from providers.registries.labels import OWNER, parse_labels
from providers.registries.stored_claim import StoredClaim, StoredClaimChange, StoreReading, compute_digest
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from registry_app.clock import fetch_now
from registry_app.errors import DATABASE_ERRORS, StateMoved
from registry_app.models import DatabaseClaim, RegistryProfile

_ROWS = 500
_NAMES = 5_000
_VERSION_BYTES = 16
_MOST_OWNER_ID = DatabaseClaim._meta.get_field("owner_id").max_length or 0
_VALUES = ("owner_id", "text", "meant_targets", "writes_legacy", "changed_at")
_CLAIM = ("name", "record_type", "set_identifier", "text", "meant_targets")


class RowsMoved(StateMoved):
    """A row is not what was read: nothing was changed."""

    code = "registry_rows_moved"


class NoClaims(ProviderError):
    """The owner has no claim in a registry."""

    code = "no_registry"


@dataclass(frozen=True)
class RowChange:
    """One row from `old` to `new`, both heritage texts; None: no row. With `meant_targets` it becomes an
    intent. `writes_legacy`: None leaves it as it is, as long as the owner is the same."""

    key: EndpointKey
    old: str | None
    new: str | None
    meant_targets: tuple[str, ...] | None = None
    writes_legacy: bool | None = None


class DatabaseStore:
    """The claims of one registry profile. Threads may share it: each has a connection of its own."""

    def __init__(self, profile_id: int) -> None:
        self._profile_id = profile_id

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """All claims there are now."""
        rows = DatabaseClaim.objects.filter(registry_profile=self._profile_id).order_by()
        return [_build_claim(row) for row in rows.values_list(*_CLAIM).iterator(chunk_size=_NAMES)]

    def fetch_reading(self) -> StoreReading:
        """The version now, and the claims when they are asked for: then they are as new, or newer."""
        version = fetch_versions([self._profile_id]).get(self._profile_id, "")
        return StoreReading(compute_digest((self._profile_id, version)), self.fetch_claims)

    def fetch_claims_at(self, names: Collection[str]) -> Sequence[StoredClaim]:
        """All claims for record sets at canonical names."""
        rows = DatabaseClaim.objects.filter(registry_profile=self._profile_id).order_by()
        return [
            _build_claim(row)
            for some in _cut(names)
            for row in rows.filter(name__among=some).values_list(*_CLAIM)
        ]

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make all changes, or none where a row has another text than `old`.

        Raises NothingSent where nothing was changed, and OutcomeUnknown where the database did not say.
        """
        self._change([_build_change(each) for each in changes])

    def export(self, owner_id: str, *, when: datetime) -> bytes:
        """The claims of an owner, or of all, as one document. Raises NoClaims where there are none."""
        rows = DatabaseClaim.objects.filter(registry_profile=self._profile_id).order_by()
        if owner_id:
            rows = rows.filter(owner_id=owner_id)
        claims = [_build_claim(row) for row in rows.values_list(*_CLAIM).iterator(chunk_size=_NAMES)]
        if owner_id and not claims:
            raise NoClaims(f"The owner {owner_id!r} has no claim in this registry.")
        return format_claims_document(claims, owner_id=owner_id, when=when)

    def parse_export(self, document: bytes, *, max_items: int) -> Export:
        """What a document has. Raises UnusableExport."""
        return parse_claims_document(document, max_items=max_items)

    def restore(self, export: Export) -> None:
        """Bring claims back that are not there; what is there already stays. Raises NothingSent where another
        claim is there, and as `write` does."""
        there = {claim.key: claim for claim in self.fetch_claims_at({row.key.name for row in export.rows})}
        changes = []
        for row in export.rows:
            standing, text = there.get(row.key), row.raw.decode()
            if standing is not None and standing.is_settled and standing.text != text:
                raise NothingSent(f"{row.key.name} {row.key.record_type} has another claim here.")
            if standing is None or not standing.is_settled:
                changes.append(RowChange(row.key, standing.text if standing else None, text))
        self._change(changes)

    def _change(self, changes: Sequence[RowChange]) -> None:
        try:
            with transaction.atomic():
                change_rows(self._profile_id, changes)
        except RowsMoved as error:
            raise NothingSent(f"The change was not made: {error.happened}") from error
        except DATABASE_ERRORS as error:
            raise OutcomeUnknown(f"The database did not confirm the change: {error}") from error


def change_rows(profile_id: int, changes: Sequence[RowChange], *, passes_over_moved: bool = False) -> None:
    """Make these changes in the caller's transaction, each if its row still has `old`.

    Raises RowsMoved if one has not; with `passes_over_moved`, that one is left as it is.
    """
    if not changes:
        return
    if not renew_version(profile_id):
        if passes_over_moved:
            return
        raise RowsMoved("The registry profile was deleted.")
    rows = _fetch_rows(profile_id, {each.key.name for each in changes})
    standing = [each for each in changes if (rows[each.key].text if each.key in rows else None) == each.old]
    if len(standing) < len(changes) and not passes_over_moved:
        moved = next(each for each in changes if each not in standing)
        raise RowsMoved(
            f"The row for {moved.key.name} {moved.key.record_type} is not what was read any more."
        )
    _store(profile_id, standing, rows)


def renew_version(profile_id: int) -> bool:
    """Before rows are changed, in the same transaction: whoever changes rows of this profile as well waits
    here. False if it was deleted."""
    version = secrets.token_hex(_VERSION_BYTES)
    return bool(RegistryProfile.objects.filter(pk=profile_id).update(claims_version=version))


def fetch_versions(profile_ids: Collection[int]) -> dict[int, str]:
    """The versions of the rows of registry profiles. Database read."""
    rows = RegistryProfile.objects.filter(pk__in=profile_ids)
    return dict(rows.values_list("pk", "claims_version"))


def fetch_legacy_writers(
    profile_id: int, owner_id: str, names: Collection[str] | None = None
) -> set[EndpointKey]:
    """The record sets for which an owner's instance writes a claim without the record type as well; at
    canonical names, or all. Database read."""
    rows = DatabaseClaim.objects.filter(registry_profile=profile_id, owner_id=owner_id, writes_legacy=True)
    parts = [rows] if names is None else [rows.filter(name__among=some) for some in _cut(names)]
    return {
        EndpointKey(*row)
        for part in parts
        for row in part.order_by().values_list("name", "record_type", "set_identifier")
    }


def _fetch_rows(profile_id: int, names: Collection[str]) -> dict[EndpointKey, DatabaseClaim]:
    rows = DatabaseClaim.objects.filter(registry_profile=profile_id).order_by()
    return {
        EndpointKey(row.name, row.record_type, row.set_identifier): row
        for some in _cut(names)
        for row in rows.filter(name__among=some)
    }


def _store(profile_id: int, changes: Iterable[RowChange], rows: dict[EndpointKey, DatabaseClaim]) -> None:
    now = fetch_now()
    made, changed, gone = [], [], []
    for change in changes:
        row = rows.get(change.key)
        if change.new is None:
            gone += [row.pk] if row is not None else []
            continue
        if row is None:
            row = DatabaseClaim(registry_profile_id=profile_id, **change.key._asdict(), created_at=now)
            made.append(row)
        else:
            changed.append(row)
        owner_id = _read_owner(change.new)
        kept = row.writes_legacy if row.owner_id == owner_id else False
        row.writes_legacy = kept if change.writes_legacy is None else change.writes_legacy
        row.owner_id, row.text, row.changed_at = owner_id, change.new, now
        row.meant_targets = None if change.meant_targets is None else list(change.meant_targets)
    for start in range(0, len(gone), _ROWS):
        DatabaseClaim.objects.filter(pk__in=gone[start : start + _ROWS]).delete()
    DatabaseClaim.objects.bulk_create(made, batch_size=_ROWS)
    DatabaseClaim.objects.bulk_update(changed, _VALUES, batch_size=_ROWS)


def _read_owner(text: str) -> str:
    owner_id = (parse_labels(text) or {}).get(OWNER, "")
    if not owner_id or len(owner_id) > _MOST_OWNER_ID:
        raise RowsMoved("A row names no owner, or one whose id is too long.")
    return owner_id


def _build_change(change: StoredClaimChange) -> RowChange:
    meant = change.record.targets if change.is_intent else None
    return RowChange(endpoint_key(change.record), change.old, change.new, meant)


def _build_claim(row: tuple[str, str, str, str, list[str] | None]) -> StoredClaim:
    name, record_type, set_identifier, text, meant = row
    key = EndpointKey(name, record_type, set_identifier)
    return StoredClaim(key, text, meant_targets=None if meant is None else tuple(meant))


def _cut(names: Collection[str]) -> Iterator[Sequence[str]]:
    ordered = sorted(names)
    for start in range(0, len(ordered), _NAMES):
        yield ordered[start : start + _NAMES]
