"""What a finding suggests, as a request of this API: method, path and body, to be sent as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from registry_app.api.row_serializer import ObjectOrNullField
from registry_app.models import Claim, Finding, Owner, Transfer

Suggestion = dict[str, Any]
_API = "/api/v1"
# Our word for each member of a selection, and the API's.
_SELECTED = {"provider_id": "provider", "names": "names", "record_types": "type", "owner_id": "owner"}
# What the next sync of the new owner does to a record set, only a person knows: these are previewed first.
_PREVIEWED = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT)


class SuggestionAnswer(serializers.Serializer[Any]):
    """A request that is accepted as it stands."""

    kind = serializers.CharField(
        help_text="What it is about: a kind of transfer, `register_owner`, `accept_snapshot`, "
        "`look_at_transfer` or `look_at_loop_run`."
    )
    method = serializers.CharField()
    path = serializers.CharField()
    body = ObjectOrNullField(read_only=True)


@dataclass(frozen=True)
class Named:
    """What suggestions name otherwise than the API does, claims by their identity and transfers by their
    row; and which of the owners they name are registered."""

    claims: Mapping[tuple[int, str], int]
    transfers: Mapping[int, str]
    registered: frozenset[str]


def fetch_named(findings: Iterable[Finding]) -> Named:
    """All that these findings name, in one query of each kind."""
    references: set[tuple[int, str]] = set()
    transfers: set[int] = set()
    owner_ids: set[str] = set()
    for finding in findings:
        references.update(_references_of(finding))
        owner_ids.update(_candidates_of(finding))
        if isinstance(pk := finding.suggestion.get("transfer_id"), int):
            transfers.add(pk)
    identities = {bytes.fromhex(reference) for _, reference in references}
    rows = Claim.objects.filter(
        provider__in={provider for provider, _ in references}, identity__in=identities
    )
    found = rows.values_list("provider_id", "identity", "pk")
    owners = Owner.objects.filter(owner_id__in=owner_ids, status=Owner.Status.REGISTERED)
    return Named(
        claims={(provider, bytes(identity).hex()): pk for provider, identity, pk in found},
        transfers={
            pk: str(public_id)
            for pk, public_id in Transfer.objects.filter(pk__in=transfers).values_list("pk", "public_id")
        },
        registered=frozenset(owners.values_list("owner_id", flat=True)),
    )


def build_suggestion(finding: Finding, named: Named) -> Suggestion | None:
    """The request in the words of `SuggestionAnswer`. None where only a person can know what to do, or where
    what was to be cleaned up is gone."""
    stored: Mapping[str, Any] = finding.suggestion
    kind = str(stored.get("kind", ""))
    if kind in Transfer.Kind.values:
        return _suggest_transfer(finding, named)
    if kind == "register_owner":
        return _suggest(kind, "POST", "/owners/", {"owner_id": stored["owner_id"]})
    if kind == "accept_snapshot":
        # What it would change is to be seen before it is accepted: this shows it.
        return _suggest(kind, "GET", f"/held-snapshots/{stored['held_snapshot_id']}/")
    if kind == "look_at_transfer" and stored["transfer_id"] in named.transfers:
        return _suggest(kind, "GET", f"/transfers/{named.transfers[stored['transfer_id']]}/")
    if kind == "look_at_loop_run":
        return _suggest(kind, "GET", f"/loop-runs/{stored['loop_run_id']}/")
    return None


def _suggest(kind: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Suggestion:
    return {"kind": kind, "method": method, "path": f"{_API}{path}", "body": body}


def _suggest_transfer(finding: Finding, named: Named) -> Suggestion | None:
    stored = finding.suggestion
    selection = {
        word: stored["selection"][ours] for ours, word in _SELECTED.items() if ours in stored["selection"]
    }
    if "claim_refs" in stored["selection"]:
        references = _references_of(finding)
        claim_ids = [named.claims[reference] for reference in references if reference in named.claims]
        if len(claim_ids) < len(references):
            return None  # without them the selection would reach further than the finding
        selection["claim_ids"] = claim_ids
    kind = stored["kind"]
    reason = f"Finding {finding.pk}: {finding.get_kind_display()}."
    body = {"kind": kind, "selection": selection, "reason": reason}
    if kind not in _PREVIEWED:
        return _suggest(kind, "POST", "/transfers/", body)
    candidates = _candidates_of(finding)
    target = next((owner_id for owner_id in candidates if owner_id in named.registered), None)
    if target is not None:
        return _suggest(kind, "POST", "/transfers/preview/", {**body, "target_owner": target})
    if candidates:
        return _suggest("register_owner", "POST", "/owners/", {"owner_id": candidates[0]})
    return None


def _candidates_of(finding: Finding) -> list[str]:
    """Who may be meant to have the record set, the likeliest first."""
    if finding.suggestion.get("kind") not in _PREVIEWED:
        return []
    named = [finding.suggestion.get("target_owner_id"), *finding.details.get("owner_ids", ())]
    return [str(owner_id) for owner_id in named if owner_id]


def _references_of(finding: Finding) -> list[tuple[int, str]]:
    references = finding.suggestion.get("selection", {}).get("claim_refs", ())
    return [(finding.provider_id or 0, str(reference)) for reference in references]
