"""Now and then all of a response is read beside what changed: both must come to the same."""

from collections.abc import Iterator

import structlog
from django.db import transaction

from registry_app.clock import fetch_now
from registry_app.metrics import READINGS_DIFFERED, label_provider
from registry_app.models import Finding, Provider
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from registry_app.reconcile.sync_context import SyncResult

# After so many partial syncs. A whole reading also makes a new index, in the order of the response.
PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE = 100
_SHOWN = 5
_logger = structlog.get_logger(__name__)


def find_disagreements(part: SyncResult, whole: SyncResult) -> list[str]:
    """What two readings of one response differ in: the rows each would write, and the counts. Pure."""
    return sorted(set(_describe(part)) ^ set(_describe(whole)))


def note_disagreements(provider: Provider, found: list[str]) -> None:
    """Open the finding of the provider, or resolve it where nothing was found."""
    draft = _draft(provider, found)
    fingerprint = draft.fingerprint(provider.pk)
    if found:
        READINGS_DIFFERED.labels(label_provider(provider.name)).inc()
        _logger.error("sync.readings_differ", provider=provider.name, count=len(found), first=found[:_SHOWN])
        with transaction.atomic():
            open_finding(provider.pk, draft, fetch_now())
    elif Finding.objects.filter(fingerprint=fingerprint).exclude(state=Finding.State.RESOLVED).exists():
        with transaction.atomic():
            resolve_finding(fingerprint, fetch_now())


def _describe(result: SyncResult) -> Iterator[str]:
    plan, snapshot, facts = result.plan, result.snapshot, result.facts
    tally = plan.tally
    for index in plan.created:
        yield f"{_name(result, index)} appeared"
    for pk, index in plan.changed:
        yield f"{_name(result, index)} (row {pk}) is now {plan.record_digests[index].hex()}"
    for pk in plan.vanished:
        yield f"row {pk} vanished"
    for index in plan.claims_created:
        yield f"claim {plan.claim_digests[index][0].hex()} of {snapshot.claims[index].record_name} appeared"
    for pk, index in plan.claims_changed:
        yield f"claim row {pk} is now {plan.claim_digests[index][1].hex()}"
    for pk in plan.claims_gone:
        yield f"claim row {pk} is gone"
    for owner_id, count in facts.claims_by_owner.items():
        yield f"{count} claims name {owner_id}"
    for owner_id, count in facts.record_sets_by_owner.items():
        yield f"{owner_id} owns {count} record sets"
    yield f"{tally.known} record sets were known, {tally.still_there} are still there, {tally.seen} in all"
    yield f"{tally.owned} have an owner; {tally.claims_known} claims were known, {tally.claims_seen} found"


def _name(result: SyncResult, index: int) -> str:
    return " ".join(result.snapshot.records[index].key)


def _draft(provider: Provider, found: list[str]) -> FindingDraft:
    return FindingDraft(
        kind=Kind.READINGS_DIFFER,
        severity=Severity.ERROR,
        subject="",
        explanation=(
            f"A sync of {provider.name} read all of a response, and also only what had changed in it. The "
            f"results differ in {len(found)} points, such as: {'; '.join(found[:_SHOWN])}. The result of the "
            "whole response was stored, so the mirror is right now. The cause is a defect of dnsadmin: "
            "report it with this text."
        ),
        details={"count": len(found), "first": found[:_SHOWN]},
    )
