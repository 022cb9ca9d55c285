"""How a registry differs from its provider, as a finding."""

from providers.registries.configmap.resync import Comparison
from registry_app.models import Provider, RegistryProfile
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity

_MOST_LISTED = 100


def draft_drift(
    profile: RegistryProfile, provider: Provider, owner_id: str, found: Comparison, *, was_rebuilt: bool
) -> FindingDraft:
    """One finding for each owner's registry; its details list the first differences. `was_rebuilt`: these
    are what a rebuild left."""
    count = len(found.differences) + found.further
    what = "place" if count == 1 else "places"
    keyless = f" {found.keyless} rows cannot be assigned to a record set." if found.keyless else ""
    listed = found.differences[:_MOST_LISTED]
    way_out = (
        "It was updated. These rows could not be updated."
        if was_rebuilt
        else "Its instance updates it when it runs. Or let dnsadmin update it: set “rebuilt from the "
        "provider” in the registry profile."
    )
    return FindingDraft(
        kind=Kind.REGISTRY_DRIFT,
        severity=Severity.WARNING,
        subject=f"{profile.pk}\0{owner_id}",
        explanation=(
            f"The ConfigMap registry of {owner_id} in the namespace {profile.namespace} ({profile.name}) "
            f"differs from what {provider.name} shows in {count} {what}.{keyless} {way_out}"
        ),
        details={
            "registry_profile": profile.name,
            "owner_id": owner_id,
            "count": count,
            "was_rebuilt": was_rebuilt,
            "differences": [
                {
                    "kind": each.kind.value,
                    "name": each.key.name,
                    "record_type": each.key.record_type,
                    "set_identifier": each.key.set_identifier,
                    "in_registry": each.in_registry,
                    "at_provider": each.at_provider,
                }
                for each in listed
            ],
        },
    )
