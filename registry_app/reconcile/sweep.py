"""What the periodic sweep notes: abandoned syncs, silent providers, providers that are registered twice."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from registry_app.clock import fetch_now
from registry_app.models import Finding, Provider, SyncRun
from registry_app.queries.provider import (
    SILENT_INTERVALS,
    build_free_query,
    describe_duplicate,
    find_duplicates,
    find_silent,
)
from registry_app.reconcile.failure import draft_failing, failing_fingerprint
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding, resolve_findings
from registry_app.reconcile.sync_run import ABANDONED_CODE, ABANDONED_TEXT, end_abandoned

_MOST_AT_ONCE = 500


def mark_abandoned_runs() -> int:
    """End running syncs whose worker died: the lease is over, or somebody else has it (I7). The provider is
    due anyway."""
    now = fetch_now()
    is_over = build_free_query(now, "provider__") | Q(provider__lease_epoch__gt=F("epoch"))
    is_left = build_free_query(now) | Q(lease_epoch__gt=F("sync_epoch"))
    noted = Provider.objects.filter(is_left, sync_epoch__isnull=False).only("sync_epoch", "sync_started_at")
    ended = sum(end_abandoned(provider, now) for provider in noted.order_by("pk")[:_MOST_AT_ONCE])
    running = SyncRun.objects.filter(is_over, status=SyncRun.Status.RUNNING)
    pks = list(running.order_by("pk").values_list("pk", flat=True)[:_MOST_AT_ONCE])
    if not pks:
        return ended
    return ended + SyncRun.objects.filter(pk__in=pks, status=SyncRun.Status.RUNNING).update(
        status=SyncRun.Status.ABANDONED,
        finished_at=now,
        error_code=ABANDONED_CODE,
        error=ABANDONED_TEXT,
    )


def note_silent_providers() -> int:
    """Open a finding for each that has none; the next sync that succeeds resolves it."""
    now = fetch_now()
    silent = find_silent(now)
    fingerprints = {failing_fingerprint(provider.pk): provider for provider in silent}
    known = Finding.objects.filter(fingerprint__in=list(fingerprints)).exclude(state=Finding.State.RESOLVED)
    has_finding = {bytes(fingerprint) for fingerprint in known.values_list("fingerprint", flat=True)}
    new = [provider for fingerprint, provider in fingerprints.items() if fingerprint not in has_finding]
    for provider in new:
        explanation = (
            f"{provider.name} was not synced for {SILENT_INTERVALS} of its intervals. Check that "
            "workers run, and that there are enough of them."
        )
        with transaction.atomic():
            open_finding(provider.pk, draft_failing(explanation, "silent"), now)
    return len(new)


def note_duplicate_providers() -> None:
    """Open a finding for each that is not the first at its address; resolve those that hold no more. May run
    inside the caller's transaction. Two queries where nothing changed."""
    now = fetch_now()
    drafts = {pk: draft_duplicate(name, others) for pk, (name, others) in find_duplicates().items()}
    unresolved = Finding.objects.filter(kind=Kind.DUPLICATE_PROVIDER).exclude(state=Finding.State.RESOLVED)
    known = {
        provider_id: (pk, explanation)
        for pk, provider_id, explanation in unresolved.values_list("pk", "provider_id", "explanation")
    }
    with transaction.atomic():
        resolve_findings([pk for provider_id, (pk, _) in known.items() if provider_id not in drafts], now)
        for provider_id, draft in drafts.items():
            if provider_id in known and known[provider_id][1] == draft.explanation:
                continue
            try:
                with transaction.atomic():
                    open_finding(provider_id, draft, now)
            except IntegrityError:
                continue  # somebody else opened it at this moment


def draft_duplicate(name: str, others: Sequence[str]) -> FindingDraft:
    """A provider at the address of others: each provider has one finding of this kind at most."""
    return FindingDraft(
        kind=Kind.DUPLICATE_PROVIDER,
        severity=Severity.WARNING,
        subject="",
        explanation=describe_duplicate(name, others),
        details={"others": len(others)},
    )
