"""A scheduled export of claims in the database that failed."""

from registry_app.models import RegistryProfile
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity


def draft_failed_export(profile: RegistryProfile) -> FindingDraft:
    """Which claims have no new file, since when, and why."""
    if profile.exported_at is None:
        since = "They were never exported."
    else:
        since = f"The last file is of {profile.exported_at:%Y-%m-%d %H:%M} UTC."
    return FindingDraft(
        kind=Kind.EXPORT_FAILED,
        severity=Severity.ERROR,
        subject=str(profile.pk),
        explanation=(
            f"The claims of the registry profile {profile.name} were not exported. {profile.export_error} "
            f"{since} If the database is lost, so are the claims made since. Make the folder "
            "(DNSADMIN_REGISTRY_EXPORT_DIR) writable for the workers. It is tried again every few minutes, "
            "and the next file ends this finding."
        ),
        details={"registry_profile": profile.name},
    )
