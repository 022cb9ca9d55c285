"""Findings: things a person should know, and the request that would settle each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import (
    DnsNameField,
    NamePrefixField,
    ObjectOrNullField,
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderReference,
    RowSerializer,
    SearchField,
    WordsField,
    with_provider,
)
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe, post_action
from registry_app.models import Claim, Finding, Owner, Transfer
from registry_app.queries.named_row import build_prefix_query
from registry_app.queries.search import search_findings
from registry_app.reconcile.acknowledge_finding import acknowledge_finding

Suggestion = dict[str, Any]
_API = "/api/v1"
# The name of each member of a stored selection, and its name in the API.
_SELECTED = {"provider_id": "provider", "names": "names", "record_types": "type", "owner_id": "owner"}
# Only a person knows what the next sync of the new owner does to a record set: these are previewed first.
_PREVIEWED = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT)
_SEVERITIES = {severity.label.lower(): severity.value for severity in Finding.Severity}


class SuggestionAnswer(serializers.Serializer[Any]):
    """A request that is accepted as it is."""

    kind = serializers.CharField(
        help_text="What it is about: a kind of transfer, `register_owner`, `accept_snapshot`, "
        "`look_at_transfer` or `look_at_loop_run`."
    )
    method = serializers.CharField()
    path = serializers.CharField()
    body = ObjectOrNullField(read_only=True)


@dataclass(frozen=True)
class Named:
    """The ids that the API uses for what suggestions name: claims by their identity, transfers by their row;
    and which of the owners they name are registered."""

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
    """The request as `SuggestionAnswer` shows it. None where only a person can know what to do, or where the
    claims to clean up are gone."""
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
    """Owner ids that may be the new owner, the likeliest first."""
    if finding.suggestion.get("kind") not in _PREVIEWED:
        return []
    named = [finding.suggestion.get("target_owner_id"), *finding.details.get("owner_ids", ())]
    return [str(owner_id) for owner_id in named if owner_id]


def _references_of(finding: Finding) -> list[tuple[int, str]]:
    references = finding.suggestion.get("selection", {}).get("claim_refs", ())
    return [(finding.provider_id or 0, str(reference)) for reference in references]


class FindingParameters(StrictSerializer):
    kind = serializers.ChoiceField(choices=Finding.Kind.choices, required=False)
    severity = serializers.ChoiceField(
        choices=[(name, name) for name in _SEVERITIES], required=False, help_text="At least this severe."
    )
    state = WordsField(
        choices=tuple(Finding.State.values),
        required=False,
        source="state__in",
        help_text=f"States, comma-separated: {', '.join(Finding.State.values)}.",
    )
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    owner = OwnerFilterField(required=False, help_text="Owner id.")
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_prefix = NamePrefixField(required=False, help_text="Names that begin so.")
    q = SearchField("name, owner id or explanation")


class FindingAnswer(RowSerializer[Finding]):
    """A finding and, where there is one, the request that would settle it."""

    computed: ClassVar = {"severity": "severity", "suggestion": "suggestion"}

    provider = ProviderReference(allow_null=True)
    owner = OwnerIdField(read_only=True, allow_null=True)
    severity = serializers.SerializerMethodField()
    suggestion = serializers.SerializerMethodField()
    details = serializers.DictField(read_only=True)

    class Meta:
        model = Finding
        fields = (
            "id",
            "kind",
            "severity",
            "state",
            "provider",
            "owner",
            "name",
            "record_type",
            "set_identifier",
            "explanation",
            "suggestion",
            "details",
            "first_seen_at",
            "last_seen_at",
            "occurrences",
            "resolved_at",
            "acknowledged_by",
            "muted_until",
        )

    def get_severity(self, row: Finding) -> str:
        return row.get_severity_display().lower()

    @extend_schema_field(SuggestionAnswer(allow_null=True))
    def get_suggestion(self, row: Finding) -> Suggestion | None:
        return build_suggestion(row, self.context["named"])


class AcknowledgementBody(StrictSerializer):
    """Why the finding may stay, and until when it is muted."""

    reason = serializers.CharField(allow_blank=True, default="", max_length=5000)
    muted_until = serializers.DateTimeField(required=False, allow_null=True, default=None)


@describe(list="List findings, newest first.", retrieve="One finding.")
class FindingViews(NounViewSet):
    queryset = with_provider(Finding.objects.select_related("owner"))
    serializer_class = FindingAnswer
    parameters_class = FindingParameters
    scopes = {"acknowledge": "admin"}

    def read_filters(self) -> dict[str, Any]:
        filters = super().read_filters()
        if severity := filters.pop("severity", None):
            filters["severity__gte"] = _SEVERITIES[severity]
        return filters

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        prefix, text = filters.pop("name_prefix", None), filters.pop("q", "")
        rows = queryset.filter(**filters)
        rows = search_findings(rows, text) if text else rows
        return rows if prefix is None else rows.filter(build_prefix_query("name", prefix))

    def find_context(self, rows: Sequence[Finding]) -> dict[str, Any]:
        return {"named": fetch_named(rows)}

    def compute(self, shown: Sequence[dict[str, Any]]) -> None:
        findings = [
            Finding(
                pk=row["id"],
                kind=row["kind"],
                provider_id=row["provider"] and row["provider"]["id"],
                suggestion=row["suggestion"],
                details=row["details"],
            )
            for row in shown
        ]
        named = fetch_named(findings)
        for row, finding in zip(shown, findings, strict=True):
            row["severity"] = Finding.Severity(row["severity"]).label.lower()
            row["suggestion"] = build_suggestion(finding, named)

    @post_action(AcknowledgementBody, FindingAnswer)
    def acknowledge(self, body: dict[str, Any], pk: int) -> None:
        """Acknowledge a finding, or mute it for a time."""
        acknowledge_finding(self.actor, pk, **body)
