"""Changes of a hosted zone in groups that are never apart, and groups in batches within the limits. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from providers.backends.single_change import SingleChange
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.encryption import looks_encrypted
from providers.registries.labels import parse_labels
from providers.registries.txt_changes import OWNED_RECORD
from providers.registries.txt_names import parse_txt_name
from providers.wire.endpoint import EndpointKey

# Of one batch: the service's own limits (1,000 ResourceRecord elements, 32,000 characters), with room.
_MOST_ELEMENTS = 900
_MOST_CHARACTERS = 30_000


@dataclass
class Group:
    """Changes that are never apart: those of one name and of the claims for it."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    keys: list[EndpointKey] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """What the service counts: every value, and an alias as one."""
        return sum(max(1, len(_values_of(change))) for change in self.changes)

    @property
    def characters(self) -> int:
        return sum(len(each["Value"]) for change in self.changes for each in _values_of(change))


def split_groups(groups: Sequence[Group]) -> list[list[Group]]:
    """Groups in batches within the limits, in their order. One that is too large itself is alone in its
    batch, and for the service to refuse."""
    batches: list[list[Group]] = []
    elements = characters = 0
    for group in groups:
        elements += group.elements
        characters += group.characters
        if not batches or elements > _MOST_ELEMENTS or characters > _MOST_CHARACTERS:
            batches.append([])
            elements, characters = group.elements, group.characters
        batches[-1].append(group)
    return batches


def find_subject(change: SingleChange, names: Collection[str]) -> str:
    """The name a change is about: for a claim, that of the record it speaks for, where that is among `names`,
    which change too. ExternalDNS says which it is; others leave it to be seen from the claim's name."""
    endpoint = change.new or change.old
    own = change.key.name
    if change.key.record_type != "TXT" or endpoint is None:
        return own
    owned = endpoint.labels.get(OWNED_RECORD, "")
    if owned:
        return owned.lower().removesuffix(".")
    reading = parse_txt_name(own, DEFAULT_PROFILE)
    if reading is not None and reading.record_name in names:
        return reading.record_name
    if not any(parse_labels(target) is not None or looks_encrypted(target) for target in endpoint.targets):
        return own
    return next((name for name in _guess_subjects(own) if name in names), own)


def _guess_subjects(txt_name: str) -> Iterator[str]:
    """Names that a claim of this name may speak for under some prefix or suffix, the longest first. A wrong
    guess keeps two changes together that might have gone apart, and nothing more."""
    for start in range(1, len(txt_name)):
        yield txt_name[start:]
    head, _, tail = txt_name.partition(".")
    for text in (head, head.partition("-")[2]):
        for end in range(len(text) - 1, 0, -1):
            yield f"{text[:end]}.{tail}"
    yield f"*.{tail}"


def _values_of(change: dict[str, Any]) -> Sequence[dict[str, str]]:
    values: Sequence[dict[str, str]] = change["ResourceRecordSet"].get("ResourceRecords", ())
    return values
