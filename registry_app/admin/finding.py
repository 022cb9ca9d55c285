"""Findings: what a person should know, and the fix that is ready."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.answer import answer_form, refuse
from registry_app.admin.fields import MomentField, ThemedForm
from registry_app.admin.filters import TextFilter, build_choice_filter, build_row_filter
from registry_app.admin.list_page import build_column
from registry_app.admin.look_alikes import OwnerList
from registry_app.admin.suggestion import build_fix, build_joint_fix
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_foreign
from registry_app.errors import DnsadminError
from registry_app.models import PROVIDER_SECRETS, Finding, Grant, Owner, Provider
from registry_app.queries.access import may_acknowledge, may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.named_row import build_prefix_query, read_name
from registry_app.reconcile.acknowledge_finding import acknowledge_finding


class FindingNameFilter(TextFilter):
    title = "name begins with"
    parameter_name = "name"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(build_prefix_query("name", read_name(self.typed))) if self.typed else queryset


class StateFilter(build_choice_filter("state", "state", Finding.State.choices)):  # type: ignore[misc]  # a class made by a factory
    """What is resolved is history: it is shown when asked for."""

    unchosen = "Not resolved"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.typed == "all":
            return queryset
        if not self.typed:
            return queryset.exclude(state=Finding.State.RESOLVED)
        narrowed: QuerySet[Any] = super().queryset(request, queryset)
        return narrowed

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*super().lookups(request, model_admin), ("all", "Any")]


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
        build_choice_filter("kind", "kind", Finding.Kind.choices),
        build_choice_filter("severity", "severity", Finding.Severity.choices),
        StateFilter,
        build_row_filter("provider", "provider", Provider),
        build_row_filter("owner", "owner", Owner),
        FindingNameFilter,
    )
    list_select_related = ("provider", "owner")
    sortable_by = ()
    actions = ("fix_picked", "acknowledge_picked")
    page_template = "dnsadmin/finding.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Finding]:
        return super().get_queryset(request).select_related("provider", "owner").defer(*PROVIDER_SECRETS)

    def empty_reason(self, request: HttpRequest) -> str:
        last = Provider.objects.order_by("-last_sync_at").values_list("last_sync_at", flat=True)
        seen = last.filter(last_sync_at__isnull=False).first()
        if seen is None:
            return "No findings. No provider was synced yet."
        return format_html("No findings. The last sync was {}.", format_ago(seen))

    def urls_beside(self) -> list[URLPattern]:
        return [self.page_path("<int:pk>/acknowledge/", self.acknowledge_view, "acknowledge")]

    def owners_of(self, row: Finding) -> tuple[Owner | None]:
        return (row.owner,)

    @admin.display(description="finding")
    def kind_shown(self, row: Finding) -> str:
        return row.get_kind_display()

    @admin.display(description="severity")
    def severity_shown(self, row: Finding) -> SafeString:
        return format_badge(row.severity, row.get_severity_display())

    @admin.display(description="about")
    def about_shown(self, row: Finding) -> SafeString:
        about = f"{row.name} {row.record_type}".strip() or str(row.owner or NOTHING)
        mark = self.mark(row, row.owner)
        return format_html('<bdi class="dn-name">{}</bdi> {}', format_foreign(about), mark)

    @admin.display(description="state")
    def state_shown(self, row: Finding) -> SafeString:
        return format_badge(row.state, row.get_state_display())

    @admin.display(description="first seen")
    def first_shown(self, row: Finding) -> SafeString:
        return format_ago(row.first_seen_at)

    @admin.display(description="last seen")
    def last_shown(self, row: Finding) -> SafeString:
        return format_ago(row.last_seen_at)

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
