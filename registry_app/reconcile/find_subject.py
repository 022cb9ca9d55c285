"""The rows that people decide on, found or refused."""

from registry_app.errors import NotFound
from registry_app.models import Finding, HeldSnapshot, Provider


def find_provider(provider_id: int) -> Provider:
    """Raises NotFound."""
    provider = Provider.objects.filter(pk=provider_id).first()
    if provider is None:
        raise NotFound(f"There is no provider {provider_id}.", todo="Open the list of providers.")
    return provider


def find_held_snapshot(held_id: int) -> HeldSnapshot:
    """With its provider, without its body, which may be large. Raises NotFound."""
    held = HeldSnapshot.objects.filter(pk=held_id).select_related("provider").defer("body").first()
    if held is None:
        raise NotFound(f"There is no held snapshot {held_id}.", todo="Open the provider.")
    return held


def find_finding(finding_id: int) -> Finding:
    """Raises NotFound."""
    finding = Finding.objects.filter(pk=finding_id).select_related("provider").first()
    if finding is None:
        raise NotFound(f"There is no finding {finding_id}; it may have been purged.", todo="Reload the list.")
    return finding
