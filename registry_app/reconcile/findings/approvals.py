"""A looser approval policy that somebody asked for and that does not hold yet."""

from registry_app.models import ApprovalChange, Provider
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, compute_fingerprint


def compute_approval_fingerprint(provider_id: int) -> bytes:
    """Under which a provider has its one finding of this kind."""
    return compute_fingerprint(Kind.APPROVAL_LOOSENED, provider_id, "")


def draft_approval_loosened(change: ApprovalChange) -> FindingDraft:
    """Who asked, and when or by whom it comes to hold."""
    label = Provider.ApprovalPolicy(change.to_policy).label
    when = (
        f"It holds from {change.effective_at:%Y-%m-%d %H:%M} UTC on"
        if change.effective_at
        else "It waits for another administrator to confirm it"
    )
    return FindingDraft(
        kind=Kind.APPROVAL_LOOSENED,
        severity=Severity.WARNING,
        subject="",
        explanation=f"{change.asked_by_name} asked for a looser approval policy of {change.provider.name}: "
        f"{label}. {when}, for transfers requested after that. Cancel it on the page of the provider "
        "if you do not want it.",
        details={"to_policy": change.to_policy},
    )
