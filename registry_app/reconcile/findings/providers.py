"""Findings about how providers are registered."""

from collections.abc import Sequence

from registry_app.queries.same_address import describe_duplicate
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity


def draft_duplicate(name: str, others: Sequence[str]) -> FindingDraft:
    """A provider at the address of others: each provider has one finding of this kind at most."""
    return FindingDraft(
        kind=Kind.DUPLICATE_PROVIDER,
        severity=Severity.WARNING,
        subject="",
        explanation=describe_duplicate(name, others),
        details={"others": len(others)},
    )
