"""What changes of claims are in the entries of ConfigMap registries; refused where one does not fit.

A claim that comes is written before the one that goes, so that a record set has one at every moment. A
change that stands already is what its entry says: what was cut short half-way is completed by asking for it
again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from providers.registries.configmap.claims import parse_text
from providers.registries.configmap.layout import format_map_name
from providers.registries.configmap.registry import Entries, Registry, find_registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, build_row, describe_key
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

Registries = Mapping[str, Registry]


class _Place(NamedTuple):
    """What one owner's registry says of a record set. `text` is what the owner claims, if it does."""

    owner_id: str
    entry: Entry
    text: str | None

    @property
    def is_settled(self) -> bool:
        """Whether a row claims it, and not an intent alone."""
        return any(row.owner_id == self.owner_id for row in self.entry.rows)


def build_edits(changes: Iterable[StoredClaimChange], registries: Registries) -> list[tuple[str, Entries]]:
    """What these changes make of entries, by owner: to be written in this order.

    `registries` are all that there are, by owner. Raises RegistryError for the first change that does not
    fit what stands, or that no row can have.
    """
    coming: defaultdict[str, dict[EndpointKey, Entry]] = defaultdict(dict)
    going: defaultdict[str, dict[EndpointKey, Entry]] = defaultdict(dict)
    for change in changes:
        try:
            key = endpoint_key(change.record)
            for is_going, owner_id, entry in _build_entries(change, key, registries):
                if key in coming[owner_id] or key in going[owner_id]:
                    raise RegistryError(f"it is named twice for {owner_id}.")
                (going if is_going else coming)[owner_id][key] = entry
        except (RegistryError, WireError) as error:
            record = change.record
            named = EndpointKey(safe_text(record.dns_name), record.record_type, record.set_identifier)
            reason = f"{error.reason}." if isinstance(error, WireError) else error
            raise RegistryError(f"{describe_key(named)} cannot be changed: {reason}") from error
    return [*sorted(coming.items()), *sorted(going.items())]


def _build_entries(
    change: StoredClaimChange, key: EndpointKey, registries: Registries
) -> Iterator[tuple[bool, str, Entry]]:
    """The entry of the owner whose claim comes, and of the one whose claim goes (True)."""
    old_owner, _ = parse_text(change.old) if change.old is not None else ("", {})
    new_owner, labels = parse_text(change.new) if change.new is not None else ("", {})
    if not old_owner and not new_owner:
        raise RegistryError("neither an old owner nor a new one is named.")
    old = _find_place(old_owner, key, registries) if old_owner not in ("", new_owner) else None
    new = None
    if new_owner:
        format_map_name(new_owner)
        new = _find_place(new_owner, key, registries)
        yield False, new_owner, _build_coming(change, new, old, labels)
    if old:
        heir = new_owner or _find_heir(key, old_owner, registries) or change.heir
        yield True, old_owner, _build_going(change, old, new, heir)


def _find_place(owner_id: str, key: EndpointKey, registries: Registries) -> _Place:
    registry = find_registry(registries, owner_id)
    claim = registry.claim_of(key)
    if claim is not None and claim.problem:
        raise RegistryError(f"it is left as it is in the map of {owner_id}: {claim.problem}")
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
) -> Entry:
    """The entry with the claim as it is to stand."""
    _raise_if_changed(place, None if going else change.old, change.new)
    rows, intents = place.entry.rows, place.entry.intents
    # A claim that moves from one owner to another may not become a mere intent on its way.
    if change.is_intent and not going and not place.is_settled:
        if not change.record.targets:
            raise RegistryError("it has no targets, so there can be no intent for it.")
        # A row that stands there is no claim of this owner: it names another owner, or none. It stays.
        return Entry(rows[:1], (build_row(change.record, place.owner_id, labels, *intents[:1]),))
    if change.is_intent and place.text == change.new and place.is_settled:
        return place.entry  # its row gets the new targets when they are there
    known = (*rows, *intents, *(going.entry.rows if going else ()))
    return Entry((build_row(change.record, place.owner_id, labels, *known[:1]),))


def _build_going(change: StoredClaimChange, place: _Place, coming: _Place | None, heir: str) -> Entry:
    """The entry as those of all others stand in the map: with its heir for an owner, or none."""
    if place.text is None and (coming is None or coming.text == change.new):
        return place.entry
    _raise_if_changed(place, change.old)
    rows = place.entry.rows[:1]
    if not place.is_settled:
        return Entry(rows)  # an intent that came to nothing
    return Entry((build_row(change.record, heir, {}, *rows),))


def _raise_if_changed(place: _Place, *texts: str | None) -> None:
    if place.text not in texts:
        stands = "claims it no more" if place.text is None else "claims it in other words"
        raise RegistryError(f"it is not as it was read before: {place.owner_id} {stands}.")
