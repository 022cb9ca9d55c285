"""Findings about the instances behind the guard: an owner id used twice, claims of another id, changes that
passed no guard endpoint. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from providers.wire.endpoint import EndpointKey
from registry_app.models import RecordEvent
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, name_record, subject_of

_MOST_NAMED = 5
_KIND = RecordEvent.Kind
_WHAT_HAPPENED = {
    _KIND.APPEARED: "was created",
    _KIND.CHANGED: "was changed",
    _KIND.OWNER_CHANGED: "got another owner",
    _KIND.VANISHED: "was deleted",
    _KIND.RETURNED: "was created again",
}


class Named(Protocol):
    """A guard endpoint and its instance."""

    @property
    def slug(self) -> str:
        """The path of the guard endpoint."""

    @property
    def instance(self) -> str:
        """The name of the instance."""


@dataclass
class Overlap:
    """The names that instances with one owner id want differently, gathered one by one."""

    count: int = 0
    names: list[str] = field(default_factory=list)
    instances: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, instances: Iterable[Named]) -> None:
        """One more name, and the instances that want it."""
        self.count += 1
        if len(self.names) < _MOST_NAMED and name not in self.names:
            self.names.append(name)
        self.instances.update({each.slug: each.instance for each in instances})


def draft_duplicate_owner(owner_id: str, provider_name: str, overlap: Overlap) -> FindingDraft:
    """Instances that sign with one owner id and overwrite or delete what the others want."""
    instances = [f"{name} (guard endpoint {slug})" for slug, name in sorted(overlap.instances.items())]
    return FindingDraft(
        kind=Kind.DUPLICATE_OWNER,
        severity=Severity.ERROR,
        subject=owner_id,
        owner_id=owner_id,
        explanation=(
            f"The instances {_list(instances)} have the owner id {owner_id} and want "
            f"{_count(overlap.count)} at {provider_name} differently: {_list(overlap.names, overlap.count)}. "
            "Each overwrites or deletes what another wants. Give each instance an owner id of its own "
            "(--txt-owner-id), and transfer its record sets to that. If they are to share the id, remove "
            "these names from all sources but one."
        ),
        details={
            "guard_endpoints": sorted(overlap.instances),
            "names": overlap.names,
            "count": overlap.count,
        },
    )


def draft_foreign_claim(
    slug: str, owner_id: str, reasons: Sequence[tuple[str, str]], count: int, *, is_refused: bool
) -> FindingDraft:
    """A guard endpoint whose change sets have claims of another owner id. `reasons` are names and what was
    decided about each, the last one first."""
    name, reason = reasons[0]
    effect = "The guard refuses them." if is_refused else "In the mode observe they are sent all the same."
    return FindingDraft(
        kind=Kind.FOREIGN_CLAIM,
        severity=Severity.ERROR,
        subject=slug,
        owner_id=owner_id,
        explanation=(
            f"The instance at the guard endpoint {slug} signs with another owner id than {owner_id}, with "
            f"which it is registered. {_count(count, 'change')} of the last day, such as at {name}: {reason} "
            f"{effect} Start it with --txt-owner-id={owner_id}, or give the instance that signs so a guard "
            "endpoint of its own."
        ),
        details={
            "guard_endpoint": slug,
            "names": [each for each, _ in reasons[:_MOST_NAMED]],
            "count": count,
        },
    )


def draft_changed_outside(
    key: EndpointKey, kind: str, owner_id: str, provider_name: str, at: datetime
) -> FindingDraft:
    """A change of a record set all of whose owner's instances are behind the guard, that did not pass it."""
    return FindingDraft(
        kind=Kind.CHANGED_OUTSIDE,
        severity=Severity.WARNING,
        subject=subject_of(key),
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=owner_id,
        explanation=(
            f"{name_record(key)} of {owner_id} {_WHAT_HAPPENED[_KIND(kind)]} at {provider_name}, and no "
            f"guard endpoint, transfer or loop did that. It was seen at {at:%Y-%m-%d %H:%M} UTC. All "
            f"registered instances of {owner_id} are behind the guard here. Look for an ExternalDNS that "
            "still writes to the provider itself, or a person or program with its credentials. Give "
            "credentials of the provider to the guard alone."
        ),
        details={"change": kind},
    )


def find_outside_owner(
    kind: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    covered: Mapping[str, datetime],
    at: datetime,
) -> str:
    """The owner behind the guard whose record set an event changed, or empty. Of a change of labels alone
    nobody can tell: a transfer writes them, too."""
    if kind == _KIND.CHANGED and _value_of(before) == _value_of(after):
        return ""
    for values in (before, after):
        owner_id = str(values["owner"]) if values else ""
        if owner_id in covered and at > covered[owner_id]:
            return owner_id
    return ""


def _value_of(values: Mapping[str, Any] | None) -> object:
    if values is None:
        return None
    return sorted(set(values["targets"])), values["ttl"], values["provider_specific"]


def _count(number: int, noun: str = "name") -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _list(names: Sequence[str], count: int | None = None) -> str:
    shown, more = names[:_MOST_NAMED], (count or len(names)) - min(len(names), _MOST_NAMED)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else "".join(shown)
