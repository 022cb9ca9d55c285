"""What a change of a claim is in the entries of ConfigMap registries; refused where it does not fit.

A claim that comes is written before the one that goes, so that a record set has one at every moment. A
change that stands already is no edit: what was cut short half-way is completed by asking for it again.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from providers.registries.configmap.claims import parse_text
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, build_row, describe_key, has_targets_of
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

Registries = Mapping[str, Registry]
OwnerEdits = dict[str, dict[EndpointKey, Entry]]
# An owner id and further labels.
_Claimed = tuple[str, Mapping[str, str]]
_NOBODY: _Claimed = ("", {})


class Unfitting(RegistryError):
    """A change that does not fit what stands, or that no row can hold; nothing was changed for it."""


class Edits(NamedTuple):
    """The edits of several owners' registries: all of `coming` are made before any of `going`."""

    coming: OwnerEdits
    going: OwnerEdits


class _Place(NamedTuple):
    """What one owner's registry says of a record set. `text` is what the owner claims, if it does."""

    owner_id: str
    key: EndpointKey
    entry: Entry
    text: str | None

    @property
    def is_settled(self) -> bool:
        """Whether a row claims it, and not an intent alone."""
        return any(row.owner_id == self.owner_id for row in self.entry.rows)


def build_edits(changes: Iterable[StoredClaimChange], registries: Registries) -> Edits:
    """The edits that make these changes, none for what stands already.

    `registries` are all that there are, by owner. Raises Unfitting, for the first change that does not fit.
    """
    edits = Edits({}, {})
    seen: set[tuple[str, EndpointKey]] = set()
    for change in changes:
        key, (old_owner, _), (new_owner, labels) = _read(change)
        new = _find_place(new_owner, key, registries) if new_owner else None
        old = _find_place(old_owner, key, registries) if old_owner not in ("", new_owner) else None
        heir = new_owner or _find_heir(key, old_owner, registries) or change.heir
        built = (
            (new, edits.coming, new and _build_coming(change, new, old, labels)),
            (old, edits.going, old and _build_going(change, old, new, heir)),
        )
        for place, found, entry in built:
            if place is None:
                continue
            if (place.owner_id, key) in seen:
                raise Unfitting(f"{describe_key(key)} is named twice for {place.owner_id}.")
            seen.add((place.owner_id, key))
            if entry is not None:
                found.setdefault(place.owner_id, {})[key] = entry
    return edits


def _read(change: StoredClaimChange) -> tuple[EndpointKey, _Claimed, _Claimed]:
    """The record set, and who claims it with which labels before and after; an empty owner: nobody."""
    try:
        key = endpoint_key(change.record)
        old, new = (parse_text(text) if text is not None else _NOBODY for text in (change.old, change.new))
        if new[0]:
            format_map_name(new[0])
    except RegistryError as error:
        raise Unfitting(f"{safe_text(change.record.dns_name)}: {error}") from error
    except WireError as error:
        raise Unfitting(f"A record set cannot have a row: {error.reason}.") from error
    if not new[0] and not old[0]:
        raise Unfitting(f"{describe_key(key)}: a change from nothing to nothing.")
    return key, old, new


def _find_place(owner_id: str, key: EndpointKey, registries: Registries) -> _Place:
    registry = registries.get(owner_id)
    if registry is None:
        return _Place(owner_id, key, NO_ENTRY, None)
    claim = registry.claim_of(key)
    if claim is not None and claim.problem:
        raise Unfitting(f"{describe_key(key)} is left as it is in the map of {owner_id}: {claim.problem}")
    return _Place(owner_id, key, registry.entries.get(key, NO_ENTRY), claim.text if claim else None)


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
    if place.text not in (change.old if going is None else None, change.new):
        raise _moved(place)
    stands, entry = place.text == change.new, place.entry
    # A claim that moves from one owner to another may not become a mere intent on its way.
    if change.is_intent and going is None and not place.is_settled:
        if not change.record.targets:
            raise Unfitting(f"{describe_key(place.key)}: an intent without targets says nothing.")
        intent = _build_row(change, place, labels, entry.intents)
        if stands and has_targets_of(entry.intents[0], intent):
            return None
        # A row that stands there is no claim of this owner: it is somebody else's, or nobody's. It stays.
        return Entry(entry.rows[:1], (intent,))
    row = _build_row(
        change, place, labels, (*entry.rows, *entry.intents, *(going.entry.rows if going else ()))
    )
    stands = stands and place.is_settled and not entry.intents
    return None if stands and (change.is_intent or has_targets_of(entry.rows[0], row)) else Entry((row,))


def _build_going(change: StoredClaimChange, place: _Place, coming: _Place | None, heir: str) -> Entry | None:
    """The entry as those of all others stand in the map: with its heir for an owner, or none."""
    if place.text is None and (coming is None or coming.text == change.new):
        return None
    if place.text != change.old:
        raise _moved(place)
    if not place.is_settled:
        return Entry(place.entry.rows[:1])  # an intent that came to nothing
    return Entry((_build_row(change, place._replace(owner_id=heir), {}, place.entry.rows),))


def _build_row(
    change: StoredClaimChange, place: _Place, labels: Mapping[str, str], standing: tuple[Row, ...]
) -> Row:
    try:
        return build_row(change.record, place.owner_id, labels, next(iter(standing), None))
    except WireError as error:
        raise Unfitting(f"{describe_key(place.key)} cannot have a row: {error.reason}.") from error


def _moved(place: _Place) -> Unfitting:
    stands = "claims it no more" if place.text is None else "claims it in other words"
    return Unfitting(f"{describe_key(place.key)} is not as it was read before: {place.owner_id} {stands}.")
