"""Transfers: the list, the form, and the page of one with its progress and what may be done."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.utils.html import format_html

from registry_app.admin.fields import ThemedForm
from registry_app.admin.filters import (
    ConsentFilter,
    build_choice_filter,
    build_row_filter,
    build_search_filter,
    build_text_filter,
)
from registry_app.admin.forms import refuse
from registry_app.admin.list_page import (
    OwnerList,
    ago_column,
    badge_column,
    build_column,
    column,
    number_column,
)
from registry_app.admin.transfer_request import answer_transfer_request, answer_undo
from registry_app.admin.wording import NOTHING, format_foreign
from registry_app.errors import DnsadminError
from registry_app.models import Grant, Owner, Provider, Transfer
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.consent import build_consent_lines
from registry_app.queries.search import search_transfers
from registry_app.queries.transfer import (
    SHOWN_CHARACTERS,
    allowed_actions,
    build_number_query,
    progress,
    steps_for_display,
    transfers_for_display,
)
from registry_app.transfer.decisions import (
    approve_transfer,
    cancel_transfer,
    decide_transfer,
    reject_transfer,
)

ITEMS_A_PAGE = 100
CONSENTED = "You consented. The other side has to consent, too."
_SHOWN_STEPS = 50
_ACTS: Final[Mapping[str, tuple[Callable[..., Transfer], str]]] = {
    "approve": (approve_transfer, "Approved. It is sent as soon as a worker is free."),
    "reject": (reject_transfer, "Rejected. Nothing was sent."),
    "cancel": (cancel_transfer, "Cancelled. Nothing was sent."),
    "look_again": (partial(decide_transfer, decision="look_again"), "A worker reads the provider again."),
    "send_again": (
        partial(decide_transfer, decision="send_again"),
        "A worker sends again what is not as wanted.",
    ),
    "keep_as_is": (
        partial(decide_transfer, decision="keep_as_is"),
        "Closed. Everything stays as the provider has it now.",
    ),
}


class ActForm(ThemedForm):
    """The reason for an act on a transfer; an approval carries the plan it is for, and perhaps the side."""

    reason = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    fingerprint = forms.CharField(required=False, max_length=64)
    side = forms.CharField(required=False, max_length=5)


def _build_group_query(text: str) -> Q:
    try:
        return Q(group=UUID(text))
    except ValueError:
        return Q(pk=None)


@admin.register(Transfer)
class TransferPageAdmin(OwnerList[Transfer]):
    list_display = (
        "id_shown",
        "kind_shown",
        "status_shown",
        "from_shown",
        "to_shown",
        "provider",
        build_column("item_count", "record sets"),
        build_column("requested_by_name", "by"),
        "created_shown",
    )
    list_filter = (
        build_search_filter(search_transfers, "reason, owner, name or number"),
        build_text_filter("number or public id", "transfer", build_number_query),
        build_choice_filter("status", "status", Transfer.Status.choices),
        build_choice_filter("kind", "kind", Transfer.Kind.choices),
        build_row_filter("provider", "provider", Provider),
        build_row_filter("to owner", "target_owner", Owner),
        build_text_filter("requested together", "group", _build_group_query),
        ConsentFilter,
    )
    more_columns = ("reason_shown", "ticket_shown")
    page_template = "dnsadmin/transfer.html"
    pages = {
        "request": "request/",
        "undo": "<int:pk>/undo/",
        "progress": "<int:pk>/progress/",
        "step": "<int:pk>/steps/<int:step_pk>/<str:part>/",
        "act": "<int:pk>/<str:action>/act/",
    }
    form_page = "request"
    empty_text = "There are no transfers yet. Select record sets in their list, or choose “New transfer”."
    id_shown = number_column("transfer")
    status_shown = badge_column("status", "status")
    created_shown = ago_column("created_at", "requested")
    reason_shown = column("reason", lambda row: format_foreign(row.reason))
    ticket_shown = column("ticket", lambda row: format_foreign(row.ticket) or NOTHING)
    kind_shown = column(
        "what", lambda row: f"Undo of #{row.undo_of_id}" if row.undo_of_id else row.get_kind_display()
    )
    from_shown = column(
        "from",
        lambda row: format_html("{} {}", row.source_owner or NOTHING, OwnerList.mark(row, row.source_owner)),
    )
    to_shown = column(
        "to",
        lambda row: format_html("{} {}", row.target_owner or NOTHING, OwnerList.mark(row, row.target_owner)),
    )

    def find_rows(self, request: HttpRequest) -> QuerySet[Transfer]:
        return transfers_for_display()

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        may_request = may_act_somewhere(actor_of(request), Grant.Action.REQUEST)
        return [("New transfer", self.url_of("request"))] if may_request else []

    def owners_of(self, row: Transfer) -> tuple[Owner | None, ...]:
        return row.source_owner, row.target_owner

    # --- columns

    # --- pages

    def request_view(self, request: HttpRequest) -> HttpResponse:
        return answer_transfer_request(self, request)

    def undo_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return answer_undo(self, request, self.find_row(request, pk))

    def find_row(self, request: HttpRequest, object_id: str | int) -> Transfer:
        """By row, or by the public id the API uses."""
        text = str(object_id)
        row = self.get_queryset(request).filter(build_number_query(text)).first()
        if row is None:
            raise Http404(f"There is no transfer {text[:40]}.")
        return row

    def title_of(self, row: Transfer) -> str:
        return f"Transfer #{row.pk}: {row.get_kind_display().lower()}"

    def page_context(self, request: HttpRequest, row: Transfer) -> dict[str, Any]:
        page = Paginator(row.items.order_by("ordinal"), ITEMS_A_PAGE).get_page(request.GET.get("page", ""))
        state = progress(row)
        return {
            "row": row,
            "progress": state,
            "undo_url": self.url_of("undo", row.pk),
            "progress_url": self.url_of("progress", row.pk),
            "items": page,
            "steps": steps_for_display(row)[:_SHOWN_STEPS],
            "step_count": row.steps.count(),
            "shown_characters": SHOWN_CHARACTERS,
            "consents": build_consent_lines(row),
            "actions": [
                (action, self.url_of("act", row.pk, action.action))
                for action in allowed_actions(actor_of(request), row)
            ],
            "together": transfers_for_display().filter(group=row.group).exclude(pk=row.pk)[:100],
            "undos": transfers_for_display().filter(undo_of=row)[:20],
        }

    def progress_view(self, request: HttpRequest, pk: int) -> JsonResponse:
        """What an open page polls: the progress of the transfer."""
        row = self.find_row(request, pk)
        state = progress(row)
        values = {
            "status": row.status,
            "label": row.get_status_display(),
            "percent": state.percent,
            "summary": state.summary,
            "is_moving": state.is_moving,
        }
        return JsonResponse(values)

    def step_view(self, request: HttpRequest, pk: int, step_pk: int, part: str) -> HttpResponse:
        """The whole stored change set of a step, or its read-back, as plain text."""
        step = self.find_row(request, pk).steps.filter(pk=step_pk).first()
        if step is None or part not in ("sent", "read-back"):
            raise Http404("There is no such step.")
        text = step.change_set if part == "sent" else json.dumps(step.read_back, indent=2)
        return HttpResponse(text, content_type="text/plain; charset=utf-8")

    def act_view(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.find_row(request, pk)
        if action not in _ACTS:
            raise Http404("There is no such action.")
        act, done = _ACTS[action]
        form = ActForm(request.POST)
        values = form.cleaned_data if form.is_valid() else {}
        fields = ("fingerprint", "side") if action == "approve" else ("reason",)
        try:
            moved = act(actor_of(request), row.public_id, **{name: values.get(name, "") for name in fields})
        except DnsadminError as error:
            status = refuse(request, error)
            context = self.page_context(request, self.find_row(request, pk))
            typed = {"typed_action": action, "typed": values}
            return self.show(
                request, self.page_template, self.title_of(row), {**context, **typed}, status=status
            )
        is_waiting = action == "approve" and moved.status == Transfer.Status.REQUESTED
        messages.success(request, CONSENTED if is_waiting else done)
        return redirect(self.url_of("change", moved.pk))
