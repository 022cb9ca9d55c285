"""A sync that failed: its reason, the next try, and a finding when it goes on. The mirror stays."""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.clock import fetch_now
from registry_app.errors import DnsadminError
from registry_app.mirror.baseline import ImplausibleResponse
from registry_app.models import Provider, SyncRun
from registry_app.queries.provider import SHORTEST_SILENCE
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, compute_fingerprint
from registry_app.reconcile.lease import Lease, raise_if_lost
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from registry_app.reconcile.sync_run import NO_SYNC, close_run, compute_next_try, store_abandoned

FAILURES_BEFORE_FINDING = 3
_LONGEST_ERROR = 2000


def store_failure(lease: Lease, provider: Provider, run: SyncRun, error: Exception) -> SyncRun:
    """One fenced transaction. Raises LeaseLost if another run has the lease."""
    now = fetch_now()
    code, text = describe_failure(error)
    failures = provider.consecutive_failures + 1
    retry_after = error.retry_after if isinstance(error, ProviderError) else None
    with transaction.atomic():
        raise_if_lost(lease)
        Provider.objects.filter(pk=provider.pk).update(
            status=Provider.Status.FAILING,
            consecutive_failures=F("consecutive_failures") + 1,
            last_error_code=code,
            last_error=text,
            last_sync_at=now,
            next_sync_at=compute_next_try(now, provider.interval_seconds, failures, retry_after),
            **NO_SYNC,
        )
        close_run(run, SyncRun.Status.FAILED, now, error_code=code, error=text)
        if failures >= FAILURES_BEFORE_FINDING:
            explanation = f"The last {failures} syncs of {provider.name} failed. {text}"
            open_finding(provider.pk, draft_failing(explanation, code), now)
    return run


def describe_failure(error: Exception) -> tuple[str, str]:
    """A stable code, and a text without secrets or parts of a body: only our own errors give their text."""
    if isinstance(error, ProviderError):
        return error.code, f"{error} {error.hint}".strip()[:_LONGEST_ERROR]
    if isinstance(error, ImplausibleResponse):
        text = f"{error} Nothing of it was used. If it is true, a sync holds it, and a person accepts it."
        return "implausible", text[:_LONGEST_ERROR]
    if isinstance(error, WireError):
        text = (
            f"The response cannot be read: {error}. Nothing of it was used. Correct the provider, or "
            "the proxy in front of it."
        )
        return "undecodable", text[:_LONGEST_ERROR]
    if isinstance(error, DnsadminError):
        return error.code, str(error)[:_LONGEST_ERROR]
    text = f"An unexpected error stopped this sync ({type(error).__name__}). See the log."
    return "unexpected", text


def draft_failing(explanation: str, code: str) -> FindingDraft:
    """The finding of a provider that fails or is silent: one for each provider."""
    return FindingDraft(
        kind=Kind.PROVIDER_FAILING,
        severity=Severity.ERROR,
        subject="",
        explanation=f"{explanation} The mirror shows the last state that was read.",
        details={"error_code": code},
    )


def resolve_failing(provider: Provider, now: datetime) -> None:
    """The provider answered: it neither fails nor is silent. `provider` is as it was before the sync.
    Inside the transaction that stores the sync."""
    was_failing = provider.status == Provider.Status.FAILING
    # Only a provider that was not synced for a while can have that finding: most syncs need no statement
    # here. Its due time proves nothing, since a person may have requested this sync.
    last = provider.last_sync_at or provider.created_at
    if was_failing or last < now - SHORTEST_SILENCE:
        resolve_finding(failing_fingerprint(provider.pk), now)


def failing_fingerprint(provider_id: int) -> bytes:
    """Under which that finding is stored."""
    return compute_fingerprint(Kind.PROVIDER_FAILING, provider_id, "")


def mark_lost(run: SyncRun, error: DnsadminError, now: datetime) -> SyncRun:
    """End a run that lost its lease. It touches nothing but its own row: the provider is another's now."""
    if not run.has_row:
        store_abandoned(run, now, error.code, str(error))
        return run
    SyncRun.objects.filter(pk=run.pk, status=SyncRun.Status.RUNNING).update(
        status=SyncRun.Status.ABANDONED, finished_at=now, error_code=error.code, error=str(error)
    )
    run.refresh_from_db()
    return run
