"""The fix a finding suggests, in the words of this API: what it holds may be sent as it stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from registry_app.models import Claim, Finding, Transfer

Suggestion = dict[str, Any]
# Our word for each member of a selection, and the API's.
_SELECTED = {"provider_id": "provider", "names": "names", "record_types": "types", "owner_id": "owner"}


@dataclass(frozen=True)
class Named:
    """What suggestions name otherwise than the API does: claims by their identity, transfers by their row."""

    claims: Mapping[tuple[int, str], int]
    transfers: Mapping[int, str]


def fetch_named(findings: Iterable[Finding]) -> Named:
    """All that these findings name, in one query of each kind."""
    references: set[tuple[int, str]] = set()
    transfers: set[int] = set()
    for finding in findings:
        references.update(_references_of(finding))
        if isinstance(pk := finding.suggestion.get("transfer_id"), int):
            transfers.add(pk)
    identities = {bytes.fromhex(reference) for _, reference in references}
    rows = Claim.objects.filter(
        provider__in={provider for provider, _ in references}, identity__in=identities
    )
    found = rows.values_list("provider_id", "identity", "pk")
    return Named(
        claims={(provider, bytes(identity).hex()): pk for provider, identity, pk in found},
        transfers={
            pk: str(public_id)
            for pk, public_id in Transfer.objects.filter(pk__in=transfers).values_list("pk", "public_id")
        },
    )


def build_suggestion(finding: Finding, named: Named) -> Suggestion:
    """The body of `POST /transfers/` but for its reason, and for what only a person knows; or another act
    by its name. Empty where only a person can know, or where what was to be cleaned up is gone."""
    stored: Suggestion = finding.suggestion
    if stored.get("kind") in Transfer.Kind.values:
        return _build_request(finding, stored, named)
    if "transfer_id" in stored:
        public_id = named.transfers.get(stored["transfer_id"])
        return {**stored, "transfer_id": public_id} if public_id else {}
    return stored


def _build_request(finding: Finding, stored: Suggestion, named: Named) -> Suggestion:
    selection = {
        word: stored["selection"][ours] for ours, word in _SELECTED.items() if ours in stored["selection"]
    }
    if "claim_refs" in stored["selection"]:
        references = _references_of(finding)
        claim_ids = [named.claims[reference] for reference in references if reference in named.claims]
        if len(claim_ids) < len(references):
            return {}  # without them the selection would reach further than the finding
        selection["claim_ids"] = claim_ids
    target = {"target_owner": stored["target_owner_id"]} if stored.get("target_owner_id") else {}
    return {"kind": stored["kind"], "selection": selection, **target}


def _references_of(finding: Finding) -> list[tuple[int, str]]:
    references = finding.suggestion.get("selection", {}).get("claim_refs", ())
    return [(finding.provider_id or 0, str(reference)) for reference in references]
