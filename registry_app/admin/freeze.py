"""Freezes and pins: nothing is sent while one lasts."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.html import format_html

from registry_app.actor import Actor
from registry_app.admin.filters import build_row_filter
from registry_app.admin.forms import answer_form, build_act_view, refuse
from registry_app.admin.freeze_form import FreezeForm, describe_window
from registry_app.admin.list_page import ListPage, ago_column, column
from registry_app.admin.wording import NOTHING, format_ago, format_badge
from registry_app.errors import DnsadminError
from registry_app.inventory.freeze import delete_freeze, freeze, lift_freeze
from registry_app.models import Freeze, Grant, Owner, Provider
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.freeze import FreezeState, compute_freeze_state, compute_next_change, may_freeze

_BADGES = {
    FreezeState.PLANNED: format_badge("planned", "Planned"),
    FreezeState.ACTIVE: format_badge("held", "In force"),
    FreezeState.BETWEEN: format_badge("planned", "Between windows"),
    FreezeState.OVER: format_badge("over", "Over"),
}


_SUBJECTS = {"all providers": "All providers"}


@admin.register(Freeze)
class FreezePageAdmin(ListPage[Freeze]):
    list_display = (
        "provider_shown",
        "kind_shown",
        "state_shown",
        "starts_shown",
        "ends_shown",
        "reason",
        "created_by",
    )
    list_filter = (
        build_row_filter("provider", "provider", Provider),
        build_row_filter("owner", "owner", Owner),
    )
    list_select_related = ("provider", "owner")
    page_template = "dnsadmin/freeze.html"
    pages = {"start": "start/", "lift": "<int:pk>/lift/", "remove": "<int:pk>/remove/"}
    form_page = "start"
    empty_text = "There are no freezes."
    starts_shown = ago_column("starts_at", "starts")
    ends_shown = ago_column("ends_at", "ends", never="when lifted")
    provider_shown = column("frozen", lambda row: _SUBJECTS.get(row.subject, row.subject))
    kind_shown = column("kind", lambda row: "Pin" if row.kind == Freeze.Kind.PIN else "Freeze")
    state_shown = column("state", lambda row: _BADGES[_state_of(row)])

    def find_rows(self, request: HttpRequest) -> QuerySet[Freeze]:
        return super().find_rows(request).annotate(read_at=Now())

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        may_freeze = may_act_somewhere(actor_of(request), Grant.Action.OPERATE)
        return [("Freeze", self.url_of("start"))] if may_freeze else []

    def page_context(self, request: HttpRequest, row: Freeze) -> dict[str, object]:
        actor = actor_of(request)
        return {
            "row": row,
            "may_lift": may_freeze(actor, row),
            "state": _state_of(row),
            "lift_url": self.url_of("lift", row.pk),
            "delete_url": self.url_of("remove", row.pk),
            "facts": [
                ("Frozen", self.provider_shown(row)),
                ("Kind", row.get_kind_display()),
                ("Names", ", ".join(row.names) or NOTHING),
                ("Suffixes", ", ".join(row.name_suffixes) or NOTHING),
                ("State", self.state_shown(row)),
                ("Weekly window", describe_window(row) or NOTHING),
                ("Next change", _describe_next_change(row)),
                ("Starts", format_ago(row.starts_at)),
                ("Ends", self.ends_shown(row)),
                ("Reason", row.reason),
                ("Entered", format_html("{} by {}", format_ago(row.created_at), row.created_by)),
            ],
        }

    def start_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" and not may_act_somewhere(actor_of(request), Grant.Action.OPERATE):
            raise PermissionDenied("You need a grant to operate a provider to freeze it.")
        form = FreezeForm(request.POST or None, initial=request.GET.dict())

        def act(actor: Actor) -> str:
            row = freeze(actor, **form.values())
            return self.url_of("change", row.pk)

        done = "Stored. What it is of stays as it is while this is in force."
        return answer_form(self, request, form, act, title="Freeze", submit="Freeze", done=done)

    lift_view = build_act_view(lift_freeze, "Lifted: transfers may be sent again.")

    def remove_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            delete_freeze(actor_of(request), pk)
        except DnsadminError as error:
            refuse(request, error)
            return redirect(self.url_of("change", pk))
        messages.success(request, "Deleted. This freeze will not start.")
        return redirect(self.url_of("changelist"))


def _describe_next_change(row: Freeze) -> str:
    changes_at = compute_next_change(row, row.read_at)  # type: ignore[attr-defined]  # as below
    return f"{changes_at:%Y-%m-%d %H:%M} UTC" if changes_at else NOTHING


def _state_of(row: Freeze) -> FreezeState:
    """On the database's clock, which was read with the row."""
    return compute_freeze_state(row, row.read_at)  # type: ignore[attr-defined]  # annotated by get_queryset
