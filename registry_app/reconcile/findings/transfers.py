"""Findings about what became of transfers: changed back, deleted afterwards."""

from collections.abc import Iterator

from providers.registries.claim import PairedEndpoint
from registry_app.queries.transfer_items import VerifiedItem
from registry_app.reconcile.findings.draft import (
    FindingDraft,
    Kind,
    Severity,
    name_record,
    select_records,
    subject_of,
)
from registry_app.reconcile.findings.scene import Scene


def find_deleted_after_transfers(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets that a transfer gave to an owner and that are gone."""
    for item, record in _list_watched(scene):
        key = item.key
        if record is None and key.name not in scene.snapshot.set_aside_names and key.record_type:
            yield _draft_deleted(item)


def find_changed_back(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets that a transfer gave to an owner and that are another's now."""
    for item, record in _list_watched(scene):
        if record is not None and record.owner_id != item.target_owner_id:
            yield _draft_changed_back(scene, item, record.owner_id or record.state.value)


def _list_watched(scene: Scene) -> Iterator[tuple[VerifiedItem, PairedEndpoint | None]]:
    """What a transfer gave to an owner, with the record set as it is now."""
    watched = {item.key: item for item in scene.verified if item.target_owner_id}
    if not watched:
        return
    found = {record.key: record for record in scene.snapshot.records if record.key in watched}
    for key, item in sorted(watched.items()):
        yield item, found.get(key)


def _draft_deleted(item: VerifiedItem) -> FindingDraft:
    key = item.key
    return FindingDraft(
        kind=Kind.DELETED_AFTER_TRANSFER,
        severity=Severity.CRITICAL,
        subject=subject_of(key),
        explanation=(
            f"{name_record(key)} was moved to {item.target_owner_id} by transfer #{item.transfer_id} "
            "and has disappeared since. Most likely the new owner does not want it and runs with "
            "policy sync."
        ),
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=item.target_owner_id,
        suggestion={"kind": "look_at_transfer", "transfer_id": item.transfer_id},
    )


def _draft_changed_back(scene: Scene, item: VerifiedItem, now: str) -> FindingDraft:
    key = item.key
    whose = "its former owner" if now == item.source_owner_id else "somebody"
    return FindingDraft(
        kind=Kind.CHANGED_BACK,
        severity=Severity.ERROR,
        subject=subject_of(key),
        explanation=(
            f"{name_record(key)} was moved to {item.target_owner_id} by transfer #{item.transfer_id} and is "
            f"{now} now: {whose} rewrote the claim. An instance that still runs with the old settings is the "
            "usual cause."
        ),
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=item.target_owner_id,
        suggestion={
            "kind": "transfer",
            "target_owner_id": item.target_owner_id,
            "selection": select_records(scene.provider_id, [key]),
        },
        details={"transfer_id": item.transfer_id, "now": now},
    )
