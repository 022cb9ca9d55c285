"""Findings about owners: not registered, their patterns not claimed, a name split between two."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from providers.registries.claim import OwnershipState, PairedEndpoint
from registry_app.models import Owner
from registry_app.reconcile.findings.draft import (
    FindingDraft,
    Kind,
    Severity,
    name_record,
    select_records,
    subject_of,
    suggest_registering,
)
from registry_app.reconcile.findings.scene import Scene

# What ExternalDNS manages unless told otherwise; the zone's own NS, MX or SPF records are nobody's to claim.
MANAGED_TYPES = frozenset({"A", "AAAA", "CNAME"})
MOST_UNREGISTERED = 100
_NAMED, _LISTED = 3, 20


def find_unregistered_owners(scene: Scene) -> Iterator[FindingDraft]:
    """Owner ids in claims that nobody registered, or that were decommissioned: one finding for each, or one
    for all where they are too many to be read."""
    counts = scene.facts.claims_by_owner
    unregistered = sorted(owner_id for owner_id in counts if not scene.is_registered(owner_id))
    if len(unregistered) > MOST_UNREGISTERED:
        yield _draft_crowd(scene, unregistered, sum(counts[owner_id] for owner_id in unregistered))
        return
    for owner_id in unregistered:
        is_gone = scene.is_decommissioned(owner_id)
        what = "was decommissioned" if is_gone else "is not registered"
        yield FindingDraft(
            kind=Kind.UNREGISTERED_OWNER,
            severity=Severity.WARNING,
            subject=owner_id,
            explanation=(
                f"Claims at {scene.provider_name} name the owner {owner_id}, which {what}. It is not "
                "known where it runs and what it would do to its record sets. Register it."
            ),
            owner_id=owner_id,
            suggestion=suggest_registering(owner_id),
            details={"claims": counts[owner_id]},
        )


def _draft_crowd(scene: Scene, owner_ids: Sequence[str], claims: int) -> FindingDraft:
    """One finding for all: nobody reads thousands, and whoever writes TXT records can forge them."""
    return FindingDraft(
        kind=Kind.UNREGISTERED_OWNER,
        severity=Severity.ERROR,
        subject="\0many",  # no owner id begins so
        explanation=(
            f"{claims} claims at {scene.provider_name} name {len(owner_ids)} owners that are not "
            f"registered, such as {', '.join(owner_ids[:_NAMED])}. So many may be forged: find out "
            f"who writes TXT records there. Register the real ones. Up to {MOST_UNREGISTERED} have a "
            "finding of their own."
        ),
        details={"claims": claims, "owners": len(owner_ids), "owner_ids": owner_ids[:_LISTED]},
    )


def find_unmanaged_in_patterns(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets without claim where a registered owner is responsible."""
    responsible = _owners_by_suffix(scene)
    if not responsible:
        return
    for record in scene.snapshot.records:
        if record.state is not OwnershipState.UNMANAGED or record.key.record_type not in MANAGED_TYPES:
            continue
        owner_ids = _find_responsible(record.key.name, responsible)
        if owner_ids:
            yield _draft_unmanaged(scene, record, owner_ids)


def find_split_owners(scene: Scene) -> Iterator[FindingDraft]:
    """Names whose A and AAAA record sets belong to different owners."""
    records = scene.snapshot.records
    # Sorted by key, an A and its AAAA lie close; with set identifiers others come between them.
    previous: dict[str, PairedEndpoint] = {}
    name = ""
    for record in records:
        if record.key.name != name:
            name, previous = record.key.name, {}
        if record.key.record_type == "A" and record.owner_id:
            previous[record.key.set_identifier] = record
        first = previous.get(record.key.set_identifier)
        is_other = record.key.record_type == "AAAA" and record.owner_id
        if is_other and first is not None and first.owner_id != record.owner_id:
            yield FindingDraft(
                kind=Kind.SPLIT_OWNER,
                severity=Severity.WARNING,
                subject=subject_of(record.key),
                explanation=(
                    f"{name_record(first.key)} belongs to {first.owner_id} and "
                    f"{name_record(record.key)} to {record.owner_id}: two owners share one name."
                ),
                name=record.key.name,
                record_type=record.key.record_type,
                set_identifier=record.key.set_identifier,
                owner_id=record.owner_id,
                suggestion={
                    "kind": "transfer",
                    "target_owner_id": first.owner_id,
                    "selection": select_records(scene.provider_id, [record.key]),
                },
            )


def _owners_by_suffix(scene: Scene) -> dict[str, list[str]]:
    """Owners by pattern; a pattern with a leading dot holds only what lies below."""
    responsible: dict[str, list[str]] = defaultdict(list)
    for facts in scene.owners.values():
        if facts.status == Owner.Status.REGISTERED:
            for pattern in facts.name_patterns:
                responsible[pattern].append(facts.owner_id)
    return responsible


def _find_responsible(name: str, responsible: Mapping[str, list[str]]) -> list[str]:
    """The owners of the longest pattern a name falls under."""
    exact = responsible.get(name)
    if exact:
        return exact
    dot = name.find(".")
    while dot >= 0:
        found = responsible.get(name[dot:], []) + responsible.get(name[dot + 1 :], [])
        if found:
            return sorted(set(found))
        dot = name.find(".", dot + 1)
    return []


def _draft_unmanaged(scene: Scene, record: PairedEndpoint, owner_ids: list[str]) -> FindingDraft:
    key = record.key
    only = owner_ids[0] if len(owner_ids) == 1 else ""
    return FindingDraft(
        kind=Kind.UNMANAGED_IN_PATTERN,
        severity=Severity.INFO,
        subject=subject_of(key),
        explanation=(
            f"{name_record(key)} has no claim, and is a name for which {' and '.join(owner_ids)} is "
            "responsible. ExternalDNS does not change it. Adopt it if an instance should manage it."
        ),
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=only,
        suggestion={
            "kind": "adopt",
            "target_owner_id": only,
            "selection": select_records(scene.provider_id, [key]),
        },
        details={"owner_ids": owner_ids},
    )
