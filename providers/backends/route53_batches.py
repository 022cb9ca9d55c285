"""What the service is asked for: parts that are never apart, and batches of them within the limits. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from providers.wire.endpoint import EndpointKey

# Of one batch: the service's own limits (1,000 ResourceRecord elements, 32,000 characters), with room.
_MOST_ELEMENTS = 900
_MOST_CHARACTERS = 30_000


@dataclass
class Part:
    """Changes that are never apart: those of a record set and of the claims for it."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    keys: list[EndpointKey] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """What the service counts: every value, and an alias as one."""
        return sum(max(1, len(_values_of(change))) for change in self.changes)

    @property
    def characters(self) -> int:
        return sum(len(each["Value"]) for change in self.changes for each in _values_of(change))


def build_part(key: EndpointKey, held: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> Part:
    """A DELETE of exactly what was read, word for word, since the service deletes nothing that differs in a
    letter, and a CREATE."""
    changes = []
    if held is not None:
        changes.append({"Action": "DELETE", "ResourceRecordSet": held})
    if wanted is not None:
        changes.append({"Action": "CREATE", "ResourceRecordSet": wanted})
    return Part(changes, [key])


def join_parts(made: Sequence[tuple[str, Part]]) -> dict[str, Part]:
    """One part for each zone out of those of a group."""
    joined: dict[str, Part] = {}
    for zone_id, part in made:
        whole = joined.setdefault(zone_id, Part())
        whole.changes += part.changes
        whole.keys += part.keys
    return joined


def split_parts(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts in batches within the limits, in their order. One that is too large itself is alone in its
    batch, and for the service to refuse."""
    batches: list[list[Part]] = []
    elements = characters = 0
    for part in parts:
        elements += part.elements
        characters += part.characters
        if not batches or elements > _MOST_ELEMENTS or characters > _MOST_CHARACTERS:
            batches.append([])
            elements, characters = part.elements, part.characters
        batches[-1].append(part)
    return batches


def _values_of(change: dict[str, Any]) -> Sequence[dict[str, str]]:
    values: Sequence[dict[str, str]] = change["ResourceRecordSet"].get("ResourceRecords", ())
    return values
