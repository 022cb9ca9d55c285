"""The fix a finding suggests, as a link to the form that would do it, filled in."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from registry_app.admin.transfer_draft import sign_selection
from registry_app.errors import InvalidRequest
from registry_app.models import Claim, Finding, LoopRun, RecordSet, Transfer
from registry_app.transfer.plan.transfer_request import Selection


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
    if kind == "accept_restored":
        return _page("Look at the provider", "provider", suggestion.get("provider_id"))
    if kind == "look_at_transfer":
        return _page("Look at the transfer", "transfer", suggestion.get("transfer_id"))
    if kind == "look_at_loop_run":
        return _page("Look at the run", "looprun", _find_loop_run(suggestion.get("loop_run_id")))
    return None


def build_joint_fix(findings: Sequence[Finding]) -> Fix:
    """One request that is the fix of all of them. Raises InvalidRequest if they suggest different ones."""
    wanted = {_read_request(finding) for finding in findings}
    kinds = {kind for kind, _target in wanted}
    if len(wanted) != 1 or "" in kinds:
        raise InvalidRequest(
            "These findings do not suggest the same fix.",
            todo="Select findings that suggest the same fix with the same new owner. The filter by kind "
            "helps.",
        )
    [(kind, target)] = wanted
    record_sets = (pk for finding in findings for pk in _find_record_sets(finding))
    claims = (pk for finding in findings for pk in _find_claims(finding, _claim_refs(finding)))
    # Two findings may be about one record set.
    picked = Selection(
        record_set_ids=tuple(dict.fromkeys(record_sets)), claim_ids=tuple(dict.fromkeys(claims))
    )
    if picked.is_empty:
        raise InvalidRequest("The record sets of these findings are gone.", todo="Wait for the next sync.")
    query = urlencode({"kind": kind, "target_owner_id": target, "picked": sign_selection(picked)})
    return Fix(Transfer.Kind(kind).label, f"{reverse('admin:registry_app_transfer_request')}?{query}")


def _read_request(finding: Finding) -> tuple[str, str]:
    """Kind and new owner of the transfer a finding suggests; no kind if it suggests anything else."""
    suggestion: Mapping[str, Any] = finding.suggestion or {}
    kind = str(suggestion.get("kind", ""))
    names_rows = bool(_claim_refs(finding) or _selected_names(finding))
    is_fit = kind in Transfer.Kind.values and names_rows
    return (kind if is_fit else "", str(suggestion.get("target_owner_id") or ""))


def _selection_of(finding: Finding) -> Mapping[str, Any]:
    selection: Mapping[str, Any] = (finding.suggestion or {}).get("selection") or {}
    return selection


def _claim_refs(finding: Finding) -> Sequence[object]:
    references: Sequence[object] = _selection_of(finding).get("claim_refs") or ()
    return references


def _selected_names(finding: Finding) -> Sequence[str]:
    names: Sequence[str] = _selection_of(finding).get("names") or ()
    return names


def _find_record_sets(finding: Finding) -> tuple[int, ...]:
    if not (names := _selected_names(finding)):
        return ()
    rows = RecordSet.objects.filter(provider=finding.provider_id, name__in=names)
    if types := _selection_of(finding).get("record_types"):
        rows = rows.filter(record_type__in=types)
    return tuple(rows.order_by("pk").values_list("pk", flat=True))


def _find_loop_run(public_id: object) -> int | None:
    """None for one that was purged meanwhile."""
    if not isinstance(public_id, str) or not public_id:
        return None
    return LoopRun.objects.filter(public_id=public_id).values_list("pk", flat=True).first()


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
        query.extend(("type", str(name)) for name in selection.get("record_types", ()))
        if provider := selection.get("provider_id"):
            query.append(("provider", str(provider)))
        if owner := selection.get("owner_id"):
            query.append(("owner", str(owner)))
    return f"{reverse('admin:registry_app_transfer_request')}?{urlencode(query)}"


def _find_claims(finding: Finding, references: Sequence[object]) -> tuple[int, ...]:
    """Claims are named by their identity: rows come and go with syncs, what they say does not."""
    identities = [bytes.fromhex(str(reference)) for reference in references]
    rows = Claim.objects.filter(provider=finding.provider_id, identity__in=identities)
    return tuple(rows.values_list("pk", flat=True))
