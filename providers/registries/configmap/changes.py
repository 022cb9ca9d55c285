"""What a change of a claim is in the rows of ConfigMap registries: pure, and refused where it does not fit.

A claim that comes is written before the one that goes, so that a record set has one at every moment. A
change that stands already is no edit: what was cut short half-way is completed by asking for it again.
"""

from collections.abc import Iterable, Mapping

import msgspec

from providers.registries.configmap.claims import parse_text
from providers.registries.configmap.comparing import describe_key, has_targets_of
from providers.registries.configmap.names import format_map_name
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import Row, build_row
from providers.registries.configmap.shards import Edit
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

Registries = Mapping[str, Registry]
OwnerEdits = dict[str, dict[EndpointKey, Edit]]


class Unfitting(RegistryError):
    """A change that does not fit what stands, or that no row can hold; nothing was changed for it."""


class Edits(msgspec.Struct, frozen=True):
    """The edits of several owners' registries: all of `coming` are made before any of `going`."""

    coming: OwnerEdits
    going: OwnerEdits


def build_edits(changes: Iterable[StoredClaimChange], registries: Registries) -> Edits:
    """The edits that make these changes, none for what stands already.

    `registries` are all that there are, by owner. Raises Unfitting, for the first change that does not fit.
    """
    edits = Edits({}, {})
    seen: set[tuple[str, EndpointKey]] = set()
    for change in changes:
        reading = _read(change, registries)
        for place, found in ((reading.coming, edits.coming), (reading.going, edits.going)):
            if place is None:
                continue
            if (place.owner_id, place.key) in seen:
                raise Unfitting(f"{describe_key(place.key)} is named twice for {place.owner_id}.")
            seen.add((place.owner_id, place.key))
            edit = _build_coming(reading, place) if found is edits.coming else _build_going(reading, place)
            if edit is not None:
                found.setdefault(place.owner_id, {})[place.key] = edit
    return edits


class _Place(msgspec.Struct, frozen=True):
    """What one owner's registry holds of a record set. `text` is what the owner claims, if it does."""

    owner_id: str
    key: EndpointKey
    rows: list[Row]
    intents: list[Row]
    text: str | None

    @property
    def is_settled(self) -> bool:
        """Whether a row claims it, and not an intent alone."""
        return any(row.owner_id == self.owner_id for row in self.rows)


class _Reading(msgspec.Struct, frozen=True):
    """A change, the place its claim comes to (with these labels), and the place it goes from."""

    change: StoredClaimChange
    coming: _Place | None
    labels: Mapping[str, str]
    going: _Place | None
    heir: str


def _read(change: StoredClaimChange, registries: Registries) -> _Reading:
    try:
        key = endpoint_key(change.record)
        new_owner, labels = parse_text(change.new) if change.new is not None else ("", {})
        old_owner = parse_text(change.old)[0] if change.old is not None else ""
        if new_owner:
            format_map_name(new_owner)
    except RegistryError as error:
        raise Unfitting(f"{safe_text(change.record.dns_name)}: {error}") from error
    except WireError as error:
        raise Unfitting(f"A record set cannot have a row: {error.reason}.") from error
    if not new_owner and not old_owner:
        raise Unfitting(f"{describe_key(key)}: a change from nothing to nothing.")
    return _Reading(
        change,
        _find_place(new_owner, key, registries) if new_owner else None,
        labels,
        _find_place(old_owner, key, registries) if old_owner not in ("", new_owner) else None,
        new_owner or _find_heir(key, old_owner, registries) or change.heir,
    )


def _find_place(owner_id: str, key: EndpointKey, registries: Registries) -> _Place:
    registry = registries.get(owner_id)
    if registry is None:
        return _Place(owner_id, key, [], [], None)
    claim = registry.claim_of(key)
    if claim is not None and claim.problem:
        raise Unfitting(f"{describe_key(key)} is left as it is in the map of {owner_id}: {claim.problem}")
    text = claim.text if claim is not None else None
    return _Place(owner_id, key, registry.rows_of(key), registry.intents_of(key), text)


def _find_heir(key: EndpointKey, owner_id: str, registries: Registries) -> str:
    """Who else claims the record set; empty if nobody does."""
    for other, registry in sorted(registries.items()):
        claim = registry.claim_of(key) if other != owner_id else None
        if claim is not None and not claim.problem and claim.meant_targets is None:
            return other
    return ""


def _build_coming(reading: _Reading, place: _Place) -> Edit | None:
    """The claim as it is to stand; None if it stands already."""
    change = reading.change
    expected = change.old if reading.going is None else None
    if place.text not in (expected, change.new):
        raise _moved(place)
    # A claim that moves from one owner to another may not become a mere intent on its way.
    if change.is_intent and reading.going is None and not place.is_settled:
        return _build_intent(reading, place)
    like = next(iter((*place.rows, *place.intents, *(reading.going.rows if reading.going else ()))), None)
    row = _build_row(change.record, place, reading.labels, like)
    is_settled = place.text == change.new and place.is_settled and not place.intents
    if is_settled and (change.is_intent or has_targets_of(place.rows[0], row)):
        return None
    return Edit(place.key, row)


def _build_intent(reading: _Reading, place: _Place) -> Edit | None:
    record = reading.change.record
    if not record.targets:
        raise Unfitting(f"{describe_key(place.key)}: an intent without targets says nothing.")
    intent = _build_row(record, place, reading.labels, next(iter(place.intents), None))
    if place.text == reading.change.new and has_targets_of(place.intents[0], intent):
        return None
    # A row that stands there is no claim of this owner: it is somebody else's, or nobody's. It stays.
    return Edit(place.key, next(iter(place.rows), None), intent)


def _build_going(reading: _Reading, place: _Place) -> Edit | None:
    """The row as everybody else's rows stand in the map: with its heir for an owner, or none."""
    change, coming = reading.change, reading.coming
    if place.text is None and (coming is None or coming.text == change.new):
        return None
    if place.text != change.old:
        raise _moved(place)
    if not place.is_settled:
        return Edit(place.key, next(iter(place.rows), None))  # an intent that came to nothing
    heir = _Place(reading.heir, place.key, [], [], None)
    return Edit(place.key, _build_row(change.record, heir, {}, place.rows[0]))


def _build_row(record: Endpoint, place: _Place, labels: Mapping[str, str], like: Row | None) -> Row:
    try:
        return build_row(record, place.owner_id, labels, like)
    except WireError as error:
        raise Unfitting(f"{describe_key(place.key)} cannot have a row: {error.reason}.") from error


def _moved(place: _Place) -> Unfitting:
    stands = "claims it no more" if place.text is None else "claims it in other words"
    return Unfitting(f"{describe_key(place.key)} is not as it was read before: {place.owner_id} {stands}.")
