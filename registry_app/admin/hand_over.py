"""Hand-overs: the list, the request form, and the page of one with its names and what may be done."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.admin.filters import ConsentFilter, build_choice_filter, build_row_filter
from registry_app.admin.forms import read_posted, refuse
from registry_app.admin.hand_over_form import answer_hand_over_request
from registry_app.admin.list_page import (
    OwnerList,
    ago_column,
    badge_column,
    build_column,
    column,
    number_column,
)
from registry_app.admin.transfer import CONSENTED
from registry_app.errors import DnsadminError
from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    cancel_hand_over,
    pause_hand_over,
    reject_hand_over,
    resume_hand_over,
    start_next_wave,
)
from registry_app.models import Grant, HandOver, HandOverItem, Owner, Provider
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.consent import build_consent_lines, describe_waiting
from registry_app.queries.hand_over import count_items, hand_overs_for_display, list_allowed_actions
from registry_app.queries.hand_over_items import fetch_item_facts, list_items

_NAMES_A_PAGE = 100
_STATE = HandOverItem.State
_ACTS: Final[Mapping[str, tuple[Callable[..., HandOver], str]]] = {
    "approve": (approve_hand_over, "Approved. Each name moves when the new owner wants it."),
    "reject": (reject_hand_over, "Rejected. Nothing moved."),
    "cancel": (cancel_hand_over, "Cancelled. What moved stays moved."),
    "pause": (pause_hand_over, "Paused. No other name moves until it is resumed."),
    "resume": (resume_hand_over, "Resumed."),
    "next_wave": (start_next_wave, "The names of the next wave may move now."),
}


@admin.register(HandOver)
class HandOverPageAdmin(OwnerList[HandOver]):
    list_display = (
        "id_shown",
        "status_shown",
        "from_shown",
        "to_shown",
        "provider",
        "names_shown",
        "wave_shown",
        "ends_shown",
        build_column("requested_by_name", "by"),
    )
    list_filter = (
        build_choice_filter("status", "status", HandOver.Status.choices),
        build_row_filter("provider", "provider", Provider),
        build_row_filter("from owner", "from_owner", Owner),
        build_row_filter("to owner", "to_owner", Owner),
        ConsentFilter,
    )
    page_template = "dnsadmin/hand_over.html"
    pages = {"request": "request/", "act": "<int:pk>/<str:action>/act/"}
    form_page = "request"
    empty_text = (
        "There are no hand-overs yet. Choose “New hand-over” to give names of one owner to another, each as "
        "soon as the other wants it."
    )
    id_shown = number_column("hand-over")
    status_shown = badge_column("status", "status")
    ends_shown = ago_column("ends_at", "ends")
    wave_shown = column("wave", lambda row: f"{row.wave} of {row.wave_count}")
    from_shown = column(
        "from", lambda row: format_html("{} {}", row.from_owner, OwnerList.mark(row, row.from_owner))
    )
    to_shown = column("to", lambda row: format_html("{} {}", row.to_owner, OwnerList.mark(row, row.to_owner)))
    names_shown = column("names", lambda row: describe_counts(row.counts))

    def find_rows(self, request: HttpRequest) -> QuerySet[HandOver]:
        return hand_overs_for_display()

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        counts = count_items(changes.result_list)
        for row in changes.result_list:
            row.counts = counts[row.pk]
        return changes

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        may_request = may_act_somewhere(actor_of(request), Grant.Action.REQUEST)
        return [("New hand-over", self.url_of("request"))] if may_request else []

    def owners_of(self, row: HandOver) -> tuple[Owner | None, ...]:
        return row.from_owner, row.to_owner

    def title_of(self, row: HandOver) -> str:
        return f"Hand-over #{row.pk}"

    def page_context(self, request: HttpRequest, row: HandOver) -> dict[str, Any]:
        actor = actor_of(request)
        counts = count_items([row])[row.pk]
        typed = {name: request.GET.get(name, "").replace("\0", "") for name in ("state", "wave", "suffix")}
        items = _filter_items(row, typed)
        page = Paginator(items.order_by("wave", "name", "pk"), _NAMES_A_PAGE).get_page(
            request.GET.get("page")
        )
        moved = counts[_STATE.MOVED] + counts[_STATE.SERVING]
        may_request = may_act_somewhere(actor, Grant.Action.REQUEST)
        return {
            "row": row,
            "counts": [(state, state.label, counts[state]) for state in _STATE if counts[state]],
            "name_count": sum(counts.values()),
            "items": page,
            "lines": fetch_item_facts(row, page.object_list),
            "filters": typed,
            "query": urlencode({name: value for name, value in typed.items() if value}),
            "states": [(state.value, state.label) for state in _STATE],
            "waiting": describe_waiting(row),
            "consents": build_consent_lines(row),
            "waves": range(1, row.wave_count + 1) if row.wave_count <= _NAMES_A_PAGE else (),
            "actions": [
                (action, self.url_of("act", row.pk, action.action))
                for action in list_allowed_actions(actor, row)
            ],
            "bring_back": f"{self.url_of('request')}?back={row.pk}" if moved and may_request else "",
        }

    def request_view(self, request: HttpRequest) -> HttpResponse:
        return answer_hand_over_request(self, request)

    def act_view(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.find_row(request, pk)
        if action not in _ACTS:
            raise Http404("There is no such action.")
        act, done = _ACTS[action]
        names = ("fingerprint", "side") if action == "approve" else ("reason",)
        try:
            moved = act(
                actor_of(request), row.public_id, **{name: read_posted(request, name) for name in names}
            )
        except DnsadminError as error:
            status = refuse(request, error)
            context = self.page_context(request, self.find_row(request, pk))
            return self.show(request, self.page_template, self.title_of(row), context, status=status)
        is_waiting = action == "approve" and moved.status == HandOver.Status.REQUESTED
        messages.success(request, CONSENTED if is_waiting else done)
        return redirect(self.url_of("change", row.pk))


def describe_counts(counts: Mapping[str, int]) -> SafeString | str:
    """How many names are in each state, in words."""
    return ", ".join(f"{number} {state}" for state, number in counts.items() if number) or "0"


def _filter_items(row: HandOver, typed: Mapping[str, str]) -> QuerySet[HandOverItem]:
    wave = typed["wave"]
    return list_items(
        row,
        state=typed["state"] if typed["state"] in _STATE.values else "",
        wave=int(wave) if wave.isascii() and wave.isdigit() and len(wave) < 9 else None,
        name_suffix=typed["suffix"],
    )
