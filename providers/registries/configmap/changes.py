"""What changes of claims are in the entries of ConfigMap registries; refused where one does not fit.

A claim that comes is written before the one that goes, so that a record set has one at every moment. A
change that stands already is no edit: what was cut short half-way is completed by asking for it again.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from providers.registries.configmap.claims import parse_text
from providers.registries.configmap.layout import format_map_name
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, build_row, describe_key, has_targets_of
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

Registries = Mapping[str, Registry]
# How entries are to stand afterwards, by owner.
OwnerEdits = dict[str, dict[EndpointKey, Entry]]


class _Unfitting(RegistryError):
    """A change that does not fit what stands; the rest of a sentence that begins with its record set."""


class _Place(NamedTuple):
    """What one owner's registry says of a record set. `text` is what the owner claims, if it does."""

    owner_id: str
    entry: Entry
    text: str | None

    @property
    def is_settled(self) -> bool:
        """Whether a row claims it, and not an intent alone."""
        return any(row.owner_id == self.owner_id for row in self.entry.rows)


def build_edits(
    changes: Iterable[StoredClaimChange], registries: Registries
) -> tuple[OwnerEdits, OwnerEdits]:
    """The edits that make these changes, none for what stands already: all of the first are made before any
    of the second.

    `registries` are all that there are, by owner. Raises RegistryError for the first change that does not
    fit what stands, or that no row can have.
    """
    edits: tuple[OwnerEdits, OwnerEdits] = ({}, {})
    seen: set[tuple[str, EndpointKey]] = set()
    for change in changes:
        try:
            key = endpoint_key(change.record)
            for wave, owner_id, entry in _build_entries(change, key, registries):
                if (owner_id, key) in seen:
                    raise _Unfitting(f"is named twice for {owner_id}.")
                seen.add((owner_id, key))
                if entry is not None:
                    edits[wave].setdefault(owner_id, {})[key] = entry
        except _Unfitting as error:
            raise RegistryError(f"{_describe(change.record)} {error}") from error
        except RegistryError as error:
            raise RegistryError(f"{_describe(change.record)}: {error}") from error
        except WireError as error:
            raise RegistryError(f"{_describe(change.record)} cannot have a row: {error.reason}.") from error
    return edits


def _describe(record: Endpoint) -> str:
    return describe_key(EndpointKey(safe_text(record.dns_name), record.record_type, record.set_identifier))


def _build_entries(
    change: StoredClaimChange, key: EndpointKey, registries: Registries
) -> Iterable[tuple[int, str, Entry | None]]:
    """The entry of the owner whose claim comes, and of the one whose claim goes; None for what stands so."""
    old_owner, _ = parse_text(change.old) if change.old is not None else ("", {})
    new_owner, labels = parse_text(change.new) if change.new is not None else ("", {})
    if not old_owner and not new_owner:
        raise _Unfitting("is changed from nothing to nothing.")
    old = _find_place(old_owner, key, registries) if old_owner not in ("", new_owner) else None
    new = None
    if new_owner:
        format_map_name(new_owner)
        new = _find_place(new_owner, key, registries)
        yield 0, new_owner, _build_coming(change, new, old, labels)
    if old:
        heir = new_owner or _find_heir(key, old_owner, registries) or change.heir
        yield 1, old_owner, _build_going(change, old, new, heir)


def _find_place(owner_id: str, key: EndpointKey, registries: Registries) -> _Place:
    registry = registries.get(owner_id)
    if registry is None:
        return _Place(owner_id, NO_ENTRY, None)
    claim = registry.claim_of(key)
    if claim is not None and claim.problem:
        raise _Unfitting(f"is left as it is in the map of {owner_id}: {claim.problem}")
    return _Place(owner_id, registry.entries.get(key, NO_ENTRY), claim.text if claim else None)


def _find_heir(key: EndpointKey, owner_id: str, registries: Registries) -> str:
    """Who else claims the record set; empty if nobody does."""
    for other, registry in sorted(registries.items()):
        claim = registry.claim_of(key)
        if other != owner_id and claim is not None and claim.is_settled:
            return other
    return ""


def _build_coming(
    change: StoredClaimChange, place: _Place, going: _Place | None, labels: Mapping[str, str]
) -> Entry | None:
    """The entry with the claim as it is to stand; None if it stands so already."""
    _raise_if_changed(change, place, None if going else change.old, change.new)
    entry, stands = place.entry, place.text == change.new
    # A claim that moves from one owner to another may not become a mere intent on its way.
    if change.is_intent and going is None and not place.is_settled:
        if not change.record.targets:
            raise _Unfitting("has no targets, so there can be no intent for it.")
        intent = build_row(change.record, place.owner_id, labels, _first(entry.intents))
        if stands and has_targets_of(entry.intents[0], intent):
            return None
        # A row that stands there is no claim of this owner: it names another owner, or none. It stays.
        return Entry(entry.rows[:1], (intent,))
    like = _first((*entry.rows, *entry.intents, *(going.entry.rows if going else ())))
    row = build_row(change.record, place.owner_id, labels, like)
    stands = stands and place.is_settled and not entry.intents
    return None if stands and (change.is_intent or has_targets_of(entry.rows[0], row)) else Entry((row,))


def _build_going(change: StoredClaimChange, place: _Place, coming: _Place | None, heir: str) -> Entry | None:
    """The entry as those of all others stand in the map: with its heir for an owner, or none."""
    if place.text is None and (coming is None or coming.text == change.new):
        return None
    _raise_if_changed(change, place, change.old)
    if not place.is_settled:
        return Entry(place.entry.rows[:1])  # an intent that came to nothing
    return Entry((build_row(change.record, heir, {}, _first(place.entry.rows)),))


def _raise_if_changed(change: StoredClaimChange, place: _Place, *texts: str | None) -> None:
    if place.text not in texts:
        stands = "claims it no more" if place.text is None else "claims it in other words"
        raise _Unfitting(f"is not as it was read before: {place.owner_id} {stands}.")


def _first(rows: tuple[Row, ...]) -> Row | None:
    return next(iter(rows), None)
