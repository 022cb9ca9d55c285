"""The fix a finding suggests, as a link to the form that would do it, filled in."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from registry_app.admin.transfer_draft import sign_selection
from registry_app.models import Claim, Finding, Transfer
from registry_app.transfer.selection import Selection


class Fix(NamedTuple):
    """Where a suggestion leads."""

    label: str
    address: str


def build_fix(finding: Finding) -> Fix | None:
    """None where only a person can know what to do."""
    suggestion: Mapping[str, Any] = finding.suggestion or {}
    kind = str(suggestion.get("kind", ""))
    if kind in Transfer.Kind.values:
        return Fix(Transfer.Kind(kind).label, _transfer_address(finding, suggestion))
    if kind == "register_owner":
        return Fix("Register this owner", _owner_address(finding, str(suggestion.get("owner_id", ""))))
    if kind == "accept_snapshot":
        return _page("Review the held snapshot", "heldsnapshot", suggestion.get("held_snapshot_id"))
    if kind == "look_at_transfer":
        return _page("Look at the transfer", "transfer", suggestion.get("transfer_id"))
    return None


def _page(label: str, model: str, pk: object) -> Fix | None:
    if not isinstance(pk, int):
        return None
    return Fix(label, reverse(f"admin:registry_app_{model}_change", args=[pk]))


def _owner_address(finding: Finding, owner_id: str) -> str:
    if finding.owner_id is not None:
        return reverse("admin:registry_app_owner_edit", args=[finding.owner_id])
    return f"{reverse('admin:registry_app_owner_register')}?{urlencode({'owner_id': owner_id})}"


def _transfer_address(finding: Finding, suggestion: Mapping[str, Any]) -> str:
    selection: Mapping[str, Any] = suggestion.get("selection") or {}
    query: list[tuple[str, str]] = [("kind", str(suggestion["kind"]))]
    if target := suggestion.get("target_owner_id"):
        query.append(("target_owner_id", str(target)))
    if references := selection.get("claim_refs"):
        picked = Selection(claim_ids=_find_claims(finding, references))
        query.append(("picked", sign_selection(picked)))
    else:
        query.extend(("names", str(name)) for name in selection.get("names", ()))
        query.extend(("record_types", str(name)) for name in selection.get("record_types", ()))
        if provider := selection.get("provider_id"):
            query.append(("provider", str(provider)))
        if owner := selection.get("owner_id"):
            query.append(("owner", str(owner)))
    return f"{reverse('admin:registry_app_transfer_request')}?{urlencode(query)}"


def _find_claims(finding: Finding, references: Sequence[object]) -> tuple[int, ...]:
    """Claims are named by their identity: rows come and go with visits, what they say does not."""
    identities = [bytes.fromhex(str(reference)) for reference in references]
    rows = Claim.objects.filter(provider=finding.provider_id, identity__in=identities)
    return tuple(rows.values_list("pk", flat=True))
