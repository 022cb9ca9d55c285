"""What changes of claims are in the entries of ConfigMap registries; refused where one does not fit.

A claim that comes is written before the one that goes, so that a record set has one at every moment. A
change that stands already is what its entry says: what was cut short half-way is completed by asking for it
again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from providers.registries.configmap.layout import format_map_name
from providers.registries.configmap.registry import Registries, find_registry
from providers.registries.configmap.rows import NO_ENTRY, Entries, Entry, build_row, describe_key
from providers.registries.errors import RegistryError
from providers.registries.labels import OWNER, parse_stored_labels
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError


class _Place(NamedTuple):
    """What one owner's registry says of a record set, and what of it is that owner's valid claim."""

    owner_id: str
    entry: Entry
    claim: StoredClaim | None

    @property
    def text(self) -> str | None:
        return self.claim.text if self.claim else None

    @property
    def is_settled(self) -> bool:
        """Whether a row claims it, and not an intent alone."""
        return self.claim is not None and self.claim.is_settled

    def raise_if_none_of(self, *texts: str | None) -> None:
        if self.text not in texts:
            stands = "claims it in other words" if self.claim else "claims it no more"
            raise RegistryError(f"it is not as it was read before: {self.owner_id} {stands}.")


def build_edits(changes: Iterable[StoredClaimChange], registries: Registries) -> list[tuple[str, Entries]]:
    """What these changes make of entries, by owner: to be written in this order.

    `registries` are all that there are, by owner. Raises RegistryError for the first change that does not
    fit what stands, or that no row can have.
    """
    coming: defaultdict[str, dict[EndpointKey, Entry]] = defaultdict(dict)
    going: defaultdict[str, dict[EndpointKey, Entry]] = defaultdict(dict)
    for change in changes:
        record = change.record
        try:
            key = endpoint_key(record)
            for is_going, owner_id, entry in _build_entries(change, key, registries):
                if key in coming[owner_id] or key in going[owner_id]:
                    raise RegistryError(f"it is named twice for {owner_id}.")
                (going if is_going else coming)[owner_id][key] = entry
        except (RegistryError, WireError) as error:
            named = describe_key(EndpointKey(record.dns_name, record.record_type, record.set_identifier))
            reason = f"{error.reason}." if isinstance(error, WireError) else error
            raise RegistryError(f"{named} cannot be changed: {reason}") from error
    return [*sorted(coming.items()), *sorted(going.items())]


def _build_entries(
    change: StoredClaimChange, key: EndpointKey, registries: Registries
) -> Iterator[tuple[bool, str, Entry]]:
    """The entry of the owner whose claim comes, and of the one whose claim goes (True)."""
    old_owner = parse_stored_labels(change.old, "a row")[OWNER] if change.old is not None else ""
    labels = parse_stored_labels(change.new, "a row") if change.new is not None else {}
    new_owner = labels.pop(OWNER, "")
    if not old_owner and not new_owner:
        raise RegistryError("neither an old owner nor a new one is named.")
    old = _find_place(old_owner, key, registries) if old_owner not in ("", new_owner) else None
    if new_owner:
        format_map_name(new_owner)
        new = _find_place(new_owner, key, registries)
        new.raise_if_none_of(None if old else change.old, change.new)
        yield False, new_owner, _build_coming(change, new, old, labels)
    if old and (old.claim or (new_owner and not new.claim)):
        # Gone already is fine where nobody is to have it, or where the new owner has it.
        old.raise_if_none_of(change.old)
        heir = new_owner or _find_heir(key, old_owner, registries) or change.heir
        rows = old.entry.rows[:1]
        # An intent that came to nothing leaves what stood there.
        rows = (build_row(change.record, heir, {}, *rows),) if old.is_settled else rows
        yield True, old_owner, Entry(rows)


def _build_coming(
    change: StoredClaimChange, place: _Place, going: _Place | None, labels: dict[str, str]
) -> Entry:
    """The entry with the claim as it is to stand."""
    rows, intents = place.entry
    if change.is_intent and place.is_settled and place.text == change.new:
        return place.entry  # its row gets the new targets when they are there
    # A claim that moves from one owner to another may not become a mere intent on its way.
    if change.is_intent and not going and not place.is_settled:
        if not change.record.targets:
            raise RegistryError("it has no targets, so there can be no intent for it.")
        # A row that stands there is no claim of this owner: it names another owner, or none. It stays.
        return Entry(rows[:1], (build_row(change.record, place.owner_id, labels, *intents[:1]),))
    known = (*rows, *intents, *(going.entry.rows if going else ()))
    return Entry((build_row(change.record, place.owner_id, labels, *known[:1]),))


def _find_place(owner_id: str, key: EndpointKey, registries: Registries) -> _Place:
    registry = find_registry(registries, owner_id)
    claim = registry.claim_of(key)
    if claim is not None and claim.problem:
        raise RegistryError(f"it is left as it is in the map of {owner_id}: {claim.problem}")
    return _Place(owner_id, registry.entries.get(key, NO_ENTRY), claim)


def _find_heir(key: EndpointKey, owner_id: str, registries: Registries) -> str:
    """Who else claims the record set; empty if nobody does."""
    claims = ((other, each.claim_of(key)) for other, each in sorted(registries.items()) if other != owner_id)
    return next((other for other, claim in claims if claim is not None and claim.is_settled), "")
