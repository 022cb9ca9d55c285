"""Findings: what a person should know, and the fix that each suggests."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.fields import MomentField, ThemedForm
from registry_app.admin.filters import (
    build_choice_filter,
    build_row_filter,
    build_search_filter,
    build_text_filter,
)
from registry_app.admin.forms import answer_form, refuse
from registry_app.admin.list_page import OwnerList, ago_column, badge_column, build_column, column
from registry_app.admin.transfer_form import sign_selection
from registry_app.admin.wording import NOTHING, format_ago, format_foreign
from registry_app.errors import DnsadminError, InvalidRequest
from registry_app.models import Claim, Finding, Grant, LoopRun, Owner, Provider, RecordSet, Transfer
from registry_app.queries.access import may_acknowledge, may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.named_row import build_prefix_query, read_prefix
from registry_app.queries.search import search_findings
from registry_app.reconcile.acknowledge_finding import acknowledge_finding
from registry_app.transfer.plan.transfer_request import Selection


class Fix(NamedTuple):
    """The label and the address of a suggested fix."""

    label: str
    address: str


def build_fix(finding: Finding) -> Fix | None:
    """The fix; None where only a person can know what to do."""
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
    """None for a run that was purged."""
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
    """Claims are named by their identity, because a sync may give a claim another row."""
    identities = [bytes.fromhex(str(reference)) for reference in references]
    rows = Claim.objects.filter(provider=finding.provider_id, identity__in=identities)
    return tuple(rows.values_list("pk", flat=True))


class StateFilter(build_choice_filter("state", "state", Finding.State.choices, takes_several=True)):  # type: ignore[misc]  # a class made by a factory
    """Resolved findings are shown only when they are chosen."""

    unchosen = "Not resolved"

    @property
    def exported(self) -> dict[str, str]:
        found: dict[str, str] = super().exported
        if self.typed in found.values():
            return {} if self.typed == "all" else found
        return {"state": ",".join(each for each in Finding.State if each != Finding.State.RESOLVED)}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.typed == "all":
            return queryset
        if not self.typed:
            return queryset.exclude(state=Finding.State.RESOLVED)
        narrowed: QuerySet[Any] = super().queryset(request, queryset)
        return narrowed

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*super().lookups(request, model_admin), ("all", "Any")]


_SEVERITIES = [(each.label.lower(), each.label) for each in Finding.Severity]


class SeverityFilter(build_choice_filter("severity at least", "severity", _SEVERITIES)):  # type: ignore[misc]  # as above
    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        least = {each.label.lower(): each.value for each in Finding.Severity}.get(self.typed)
        return queryset if least is None else queryset.filter(severity__gte=least)


class AcknowledgeForm(ThemedForm):
    reason = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    muted_until = MomentField(label="Mute until (UTC)", required=False, help_text="Empty: it is not muted.")


@admin.register(Finding)
class FindingPageAdmin(OwnerList[Finding]):
    list_display = (
        "kind_shown",
        "severity_shown",
        "about_shown",
        "provider",
        "state_shown",
        "first_shown",
        "last_shown",
        build_column("occurrences", "times seen"),
    )
    list_filter = (
        build_search_filter(search_findings, "name, owner or explanation"),
        build_choice_filter("kind", "kind", Finding.Kind.choices),
        SeverityFilter,
        StateFilter,
        build_row_filter("provider", "provider", Provider),
        build_row_filter("owner", "owner", Owner),
        build_text_filter(
            "name begins with", "name_prefix", lambda text: build_prefix_query("name", read_prefix(text))
        ),
    )
    more_columns = ("explanation_shown",)
    old_filters = {"name": "name_prefix"}
    list_select_related = ("provider", "owner")
    actions = ("fix_picked", "acknowledge_picked")
    page_template = "dnsadmin/finding.html"
    pages = {"acknowledge": "<int:pk>/acknowledge/"}
    severity_shown = badge_column("severity", "severity")
    state_shown = badge_column("state", "state")
    first_shown = ago_column("first_seen_at", "first seen")
    last_shown = ago_column("last_seen_at", "last seen")
    explanation_shown = column("explanation", lambda row: format_foreign(row.explanation))
    kind_shown = column("finding", lambda row: row.get_kind_display())

    def empty_reason(self, request: HttpRequest) -> str:
        last = Provider.objects.order_by("-last_sync_at").values_list("last_sync_at", flat=True)
        seen = last.filter(last_sync_at__isnull=False).first()
        if seen is None:
            return "No findings. No provider was synced yet."
        return format_html("No findings. The last sync was {}.", format_ago(seen))

    def owners_of(self, row: Finding) -> tuple[Owner | None]:
        return (row.owner,)

    @admin.display(description="about")
    def about_shown(self, row: Finding) -> SafeString:
        about = f"{row.name} {row.record_type}".strip() or str(row.owner or NOTHING)
        mark = self.mark(row, row.owner)
        return format_html('<bdi class="dn-name">{}</bdi> {}', format_foreign(about), mark)

    # --- acts on a selection

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actor = actor_of(request)
        may = {
            "fix_picked": may_act_somewhere(actor, Grant.Action.REQUEST),
            "acknowledge_picked": may_act_somewhere(actor, Grant.Action.OPERATE),
        }
        return {name: act for name, act in super().get_actions(request).items() if may.get(name)}

    @admin.action(description="Apply the suggested fix")
    def fix_picked(self, request: HttpRequest, picked: QuerySet[Finding]) -> HttpResponseRedirect | None:
        try:
            return HttpResponseRedirect(build_joint_fix(list(picked[: self.list_per_page])).address)
        except DnsadminError as error:
            refuse(request, error)
            return None

    @admin.action(description="Acknowledge")
    def acknowledge_picked(self, request: HttpRequest, picked: QuerySet[Finding]) -> None:
        actor = actor_of(request)
        done = 0
        try:
            for pk in picked.values_list("pk", flat=True)[: self.list_per_page]:
                acknowledge_finding(actor, pk)
                done += 1
        except DnsadminError as error:
            refuse(request, error)
        if done:
            messages.success(request, f"Acknowledged: {done} finding{'' if done == 1 else 's'}.")

    def page_context(self, request: HttpRequest, row: Finding) -> dict[str, Any]:
        record_sets = reverse("admin:registry_app_recordset_changelist")
        query = urlencode({"name": row.name, "provider": row.provider_id or ""})
        actor = actor_of(request)
        may_request = may_act_somewhere(actor, Grant.Action.REQUEST)
        return {
            "row": row,
            "fix": build_fix(row) if may_request else None,
            "may_acknowledge": may_acknowledge(actor, row),
            "acknowledge_url": self.url_of("acknowledge", row.pk),
            "record_sets_url": f"{record_sets}?{query}" if row.name else "",
            "is_resolved": row.state == Finding.State.RESOLVED,
        }

    def acknowledge_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.find_row(request, pk)
        form = AcknowledgeForm(request.POST if request.method == "POST" else None)

        def act(actor: Actor) -> str:
            values = form.cleaned_data
            acknowledge_finding(actor, pk, muted_until=values["muted_until"], reason=values["reason"])
            return self.url_of("change", pk)

        context = {"intro": row.explanation, "back": self.url_of("change", pk)}
        title = f"Acknowledge: {row.get_kind_display()}"
        return answer_form(
            self, request, form, act, title=title, submit="Acknowledge", done="Acknowledged.", context=context
        )
