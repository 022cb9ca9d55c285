"""Loops: owners that dnsadmin runs itself, their declared endpoints, and what a run would do."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from providers.wire.endpoint import KNOWN_RECORD_TYPES
from registry_app.actor import Actor
from registry_app.admin.fields import LinesField, ThemedForm
from registry_app.admin.filters import build_row_filter
from registry_app.admin.forms import ConfigForm, ConfigPage, answer_form, build_act_view, read_posted, refuse
from registry_app.admin.list_page import column
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_due, link_to
from registry_app.errors import DnsadminError, NotAllowed
from registry_app.inventory.declared import declare_endpoint, withdraw_endpoint
from registry_app.inventory.loop import change_loop, delete_loop, register_loop
from registry_app.loop.loop_request import build_request, find_loop, request_loop_run
from registry_app.loop.run_loop import preview_loop
from registry_app.models import (
    DeclaredEndpoint,
    Loop,
    LoopConfirmation,
    LoopRun,
    Provider,
)
from registry_app.models.loop import list_default_types
from registry_app.queries.actor import actor_of
from registry_app.queries.dependents import find_loop_dependents
from registry_app.queries.loop import may_ask_for_run, may_declare_somewhere, may_plan_loop

_MAX_TTL = 2**31 - 1
_SHOWN_ENDPOINTS = 200
_SHOWN_RUNS = 20
_SETTINGS = ("policy", "managed_types", "interval_seconds", "is_enabled")


class WholeLinesField(LinesField):
    """Several texts, one a line, spaces inside them kept."""

    def split(self, text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]


class DeclaredEndpointForm(ThemedForm):
    name = forms.CharField(max_length=1024)
    record_type = forms.ChoiceField(choices=[(kind, kind) for kind in KNOWN_RECORD_TYPES])
    targets = WholeLinesField(help_text="One a line.")
    ttl = forms.IntegerField(
        label="TTL (seconds)", min_value=0, max_value=_MAX_TTL, initial=0, help_text="0: not configured."
    )
    set_identifier = forms.CharField(max_length=255, required=False)
    provider_specific = WholeLinesField(required=False, help_text="One a line: name=value.")
    resource = forms.CharField(max_length=500, required=False, help_text="The label `resource` of its claim.")

    def clean_provider_specific(self) -> list[list[str]]:
        lines: list[str] = self.cleaned_data["provider_specific"]
        if any("=" not in line for line in lines):
            raise forms.ValidationError("Each line is name=value.")
        return [list(line.split("=", 1)) for line in lines]

    @staticmethod
    def initial_of(row: DeclaredEndpoint) -> dict[str, Any]:
        """The initial values of the form of a declared endpoint."""
        pairs = ["=".join(pair) for pair in row.provider_specific]
        return {**model_to_dict(row), "provider_specific": pairs}


class LoopForm(ConfigForm):
    managed_types = LinesField(
        initial=list_default_types, help_text="One per line, such as A, AAAA, CNAME. Other types are ignored."
    )

    class Meta:
        model = Loop
        fields = ("owner", "provider", *_SETTINGS)


@admin.register(Loop)
class LoopPageAdmin(ConfigPage[Loop]):
    list_display = ("owner", "provider", "state_shown", "policy", "last_shown", "next_shown")
    list_filter = (build_row_filter("provider", "provider", Provider),)
    list_select_related = ("owner", "provider")
    form_class = LoopForm
    register = staticmethod(register_loop)
    change = staticmethod(change_loop)
    delete = staticmethod(delete_loop)
    find_dependents = staticmethod(find_loop_dependents)
    noun = "loop"
    meaning_of_deletion = (
        "This deletes the loop and its declared endpoints from dnsadmin. The record sets that it "
        "created stay in the zone and keep their owner."
    )
    page_template = "dnsadmin/loop.html"
    pages = {
        **ConfigPage.pages,
        "plan": "<int:pk>/plan/",
        "run": "<int:pk>/run/",
        "declare": "<int:pk>/declare/",
        "withdraw": "<int:pk>/withdraw/<int:endpoint_pk>/",
    }
    empty_text = (
        "No loop is registered. Register one to have dnsadmin itself manage record sets, for "
        "example while they are parked between two clusters."
    )
    state_shown = column(
        "state",
        lambda row: format_badge("ok", "Runs") if row.is_enabled else format_badge("off", "Switched off"),
    )
    next_shown = column("next run", lambda row: format_due(row.next_run_at) if row.is_enabled else NOTHING)

    def find_rows(self, request: HttpRequest) -> QuerySet[Loop]:
        runs = LoopRun.objects.filter(loop=OuterRef("pk")).order_by("-pk")
        return super().find_rows(request).annotate(last_status=Subquery(runs.values("status")[:1]))

    @admin.display(description="last run")
    def last_shown(self, row: Loop) -> SafeString | str:
        status = getattr(row, "last_status", None)
        return NOTHING if status is None else format_badge(status, LoopRun.Status(status).label)

    def page_context(self, request: HttpRequest, row: Loop) -> dict[str, Any]:
        actor = actor_of(request)
        declared = DeclaredEndpoint.objects.filter(loop=row)
        return {
            **super().page_context(request, row),
            "may_plan": may_plan_loop(actor, row.provider, row.owner),
            "may_run": may_ask_for_run(actor, row.provider, row.owner),
            "may_declare": may_declare_somewhere(actor, row.provider, row.owner),
            "endpoints": declared.order_by("name", "pk")[:_SHOWN_ENDPOINTS],
            "endpoint_count": declared.count(),
            "runs": LoopRun.objects.filter(loop=row).order_by("-pk")[:_SHOWN_RUNS],
            "all_runs": f"{reverse('admin:registry_app_looprun_changelist')}?loop={row.pk}",
        }

    def facts(self, row: Loop) -> list[tuple[str, object]]:
        return [
            ("Owner", link_to(row.owner)),
            ("Provider", link_to(row.provider)),
            ("State", self.state_shown(row)),
            ("Policy", row.get_policy_display()),
            ("Managed types", ", ".join(map(str, row.managed_types))),
            ("Runs", f"every {row.interval_seconds} s"),
            ("Next run", self.next_shown(row)),
            ("Declared", format_ago(row.declared_at)),
            ("Approval", _describe_approval(row)),
        ]

    def plan_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What a run would do now, from a fresh reading; nothing changes."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.find_row(request, pk)
        actor = actor_of(request)
        try:
            if not may_plan_loop(actor, row.provider, row.owner):
                raise NotAllowed(f"{actor.name} may not plan for {row.owner}.", todo="Ask an administrator.")
            plan, refusals = preview_loop(replace(build_request(find_loop(pk)), on_behalf_of=actor))
        except DnsadminError as error:
            refuse(request, error)
            return redirect(self.url_of("change", pk))
        context = {
            "row": row,
            "plan": plan,
            "refusals": refusals,
            "may_run": may_ask_for_run(actor, row.provider, row.owner),
            "back": self.url_of("change", pk),
            "planned_at": timezone.now(),
        }
        return self.show(request, "dnsadmin/loop_plan.html", f"Plan: {row}", context)

    run_view = build_act_view(
        request_loop_run,
        "Run requested. It starts within seconds. Reload the page to see it.",
        read=lambda request: {"confirmation": read_posted(request, "confirmation")},
    )
    withdraw_view = build_act_view(
        withdraw_endpoint, "Withdrawn. The next run deletes its record set if the policy allows it."
    )

    def declare_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Declare one endpoint, or change the one that `endpoint` names."""
        row = self.find_row(request, pk)
        form = DeclaredEndpointForm(request.POST or None, initial=self._initial(row, request))

        def act(actor: Actor) -> str:
            declare_endpoint(actor, pk, form.cleaned_data)
            return self.url_of("change", pk)

        return answer_form(
            self,
            request,
            form,
            act,
            title=f"Declare an endpoint: {row}",
            submit="Declare",
            done="Declared. The next run creates or updates the record set.",
            context={"back": self.url_of("change", pk)},
        )

    def _initial(self, row: Loop, request: HttpRequest) -> dict[str, Any]:
        text = request.GET.get("endpoint", "")
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            return {}
        found = DeclaredEndpoint.objects.filter(loop=row, pk=int(text)).first()
        return {} if found is None else DeclaredEndpointForm.initial_of(found)


def _describe_approval(row: Loop) -> str:
    """Which approval its runs need."""
    runs = "An administrator registered it. Its runs need no approval"
    if row.provider.approval_policy == Provider.ApprovalPolicy.NONE:
        return f"{runs}. A run beyond the thresholds needs the confirmation of one person."
    first = LoopConfirmation.objects.filter(owner=row.owner_id, provider=row.provider_id).first()
    waiting = f" {first.name} confirmed a run; another person must confirm it too." if first else ""
    return f"{runs}. A run beyond the thresholds needs the confirmation of two people.{waiting}"
