"""Held deletes: what instances asked to delete that waits for a person, and the decision on it."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import urlencode

from registry_app.actor import Actor
from registry_app.admin.fields import ThemedForm, is_id
from registry_app.admin.filters import build_choice_filter
from registry_app.admin.forms import answer_form, refuse
from registry_app.admin.guard_decision import (
    BELOW_FILTER,
    GUARD_ENDPOINT_FILTER,
    OWNER_FILTER,
    PROVIDER_FILTER,
    RULE_FILTER,
    describe_guarded,
    format_asked_name,
)
from registry_app.admin.guard_endpoint import link_to_guard_endpoint
from registry_app.admin.list_page import ListPage, ago_column, badge_column, column
from registry_app.admin.wording import NOTHING, format_ago, format_foreign
from registry_app.errors import InvalidRequest
from registry_app.guard.decide_held_deletes import (
    MOST_IDS,
    DecidedDeletes,
    HeldSelection,
    keep_held_deletes,
    list_selected,
    release_held_deletes,
)
from registry_app.models import Grant, GuardEndpoint, HeldDelete
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.guard_decision import list_held_deletes

_SHOWN_ROWS = 100
_SELECTABLE = frozenset({"guard_endpoint", "guard_endpoint_name", "name_suffix"})
_Status = HeldDelete.Status


class StatusFilter(build_choice_filter("status", "status", _Status.choices)):  # type: ignore[misc]  # a class made by a factory
    """What is over is shown only when it is chosen."""

    unchosen = "Held or kept"

    @property
    def exported(self) -> dict[str, str]:
        found: dict[str, str] = super().exported
        if self.typed in found.values():
            return {} if self.typed == "all" else found
        return {"status": ",".join(HeldDelete.STOPPING)}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.typed == "all":
            return queryset
        if not self.typed:
            return queryset.filter(status__in=HeldDelete.STOPPING)
        narrowed: QuerySet[Any] = super().queryset(request, queryset)
        return narrowed

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*super().lookups(request, model_admin), ("all", "Any")]


class DecisionForm(ThemedForm):
    """Which held deletes the page showed, how many those were, and the reason."""

    reason = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="For the audit trail.",
    )
    ids = forms.CharField(required=False, widget=forms.HiddenInput)
    guard_endpoint = forms.ModelChoiceField(
        GuardEndpoint.objects.all(), required=False, widget=forms.HiddenInput
    )
    name_suffix = forms.CharField(required=False, max_length=255, widget=forms.HiddenInput)
    expected_count = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean_ids(self) -> tuple[int, ...]:
        texts = [text for text in self.cleaned_data["ids"].split(",") if text]
        if len(texts) > MOST_IDS or not all(map(is_id, texts)):
            raise ValidationError("These are no ids of held deletes.")
        return tuple(map(int, texts))

    def to_selection(self) -> HeldSelection:
        values = {name: value for name, value in self.cleaned_data.items() if name != "reason"}
        return HeldSelection(**values)


@admin.register(HeldDelete)
class HeldDeletePageAdmin(ListPage[HeldDelete]):
    list_display = (
        "name_shown",
        "types_shown",
        "status_shown",
        "rule_shown",
        "endpoint_shown",
        "asked_shown",
        "last_shown",
        "count",
        "decided_by",
    )
    list_filter = (
        GUARD_ENDPOINT_FILTER,
        OWNER_FILTER,
        PROVIDER_FILTER,
        StatusFilter,
        RULE_FILTER,
        BELOW_FILTER,
    )
    list_select_related = False
    ordering = ("name", "id")
    actions = ("release_picked", "keep_picked")
    page_template = "dnsadmin/config.html"
    pages = {"release": "release/", "keep": "keep/"}
    empty_text = "No delete waits: no instance asked to delete more than its guard endpoint lets pass."
    name_shown = column("name", format_asked_name)
    types_shown = column("types", lambda row: ", ".join(map(format_foreign, row.record_types)) or NOTHING)
    status_shown = badge_column("status", "status")
    rule_shown = column("rule", lambda row: row.get_rule_display())
    endpoint_shown = column("guard endpoint", lambda row: link_to_guard_endpoint(row.guard_endpoint))
    asked_shown = ago_column("asked_at", "first asked for")
    last_shown = ago_column("last_asked_at", "last asked for")

    def find_rows(self, request: HttpRequest) -> QuerySet[HeldDelete]:
        return list_held_deletes()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        may_decide = may_act_somewhere(actor_of(request), Grant.Action.OPERATE)
        return dict(super().get_actions(request)) if may_decide else {}

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Decide on all of a guard endpoint that the list shows."""
        chosen = {key: str(value) for key, value in request.GET.items() if value and key != "p"}
        row = _find_chosen(chosen)
        if row is None or not may_act_somewhere(actor_of(request), Grant.Action.OPERATE):
            return []
        query = urlencode({"guard_endpoint": str(row.pk), "name_suffix": chosen.get("name_suffix", "")})
        return [
            ("Release all that match", f"{self.url_of('release')}?{query}"),
            ("Keep all that match", f"{self.url_of('keep')}?{query}"),
        ]

    # --- acts on a selection

    @admin.action(description="Release")
    def release_picked(self, request: HttpRequest, picked: QuerySet[HeldDelete]) -> HttpResponseRedirect:
        return self._begin("release", picked)

    @admin.action(description="Keep")
    def keep_picked(self, request: HttpRequest, picked: QuerySet[HeldDelete]) -> HttpResponseRedirect:
        return self._begin("keep", picked)

    def _begin(self, name: str, picked: QuerySet[HeldDelete]) -> HttpResponseRedirect:
        ids = picked.values_list("pk", flat=True)[: self.list_per_page]
        return HttpResponseRedirect(f"{self.url_of(name)}?{urlencode({'ids': ','.join(map(str, ids))})}")

    def release_view(self, request: HttpRequest) -> HttpResponse:
        """Show what is about to be released, and release it when the form is sent."""
        intro = (
            "The instance may delete these record sets. Nothing is sent now: it deletes them when it asks "
            "again, at its next sync."
        )
        return self._decide(request, "Release", HeldDelete.STOPPING, release_held_deletes, intro)

    def keep_view(self, request: HttpRequest) -> HttpResponse:
        """Show what is about to be kept, and keep it when the form is sent."""
        intro = (
            "The instance may not delete these record sets. They stay until somebody releases them, or the "
            "instance wants them again."
        )
        return self._decide(request, "Keep", HeldDelete.KEEPABLE, keep_held_deletes, intro)

    def _decide(
        self,
        request: HttpRequest,
        verb: str,
        statuses: tuple[str, ...],
        decide: Callable[..., DecidedDeletes],
        intro: str,
    ) -> HttpResponse:
        if request.method != "POST" and not may_act_somewhere(actor_of(request), Grant.Action.OPERATE):
            raise PermissionDenied("You need a grant to operate record sets to decide on their deletes.")
        shown = DecisionForm(request.POST if request.method == "POST" else request.GET)
        if not shown.is_valid():
            refuse(request, InvalidRequest("It is not clear which held deletes are meant."))
            return redirect(self.url_of("changelist"))
        selection = shown.to_selection()
        rows = self._list(selection, statuses)
        count = rows.count()
        initial = {**{name: request.GET.get(name, "") for name in shown.fields}, "expected_count": count}
        form = shown if request.method == "POST" else DecisionForm(initial=initial)

        def act(actor: Actor) -> str:
            decide(actor, selection, reason=form.cleaned_data["reason"])
            return self.url_of("changelist")

        title = f"{verb} {count} held delete{'' if count == 1 else 's'}"
        context = {
            "intro": intro,
            "rows": rows[:_SHOWN_ROWS],
            "count": count,
            "back": self.url_of("changelist"),
        }
        template = "dnsadmin/held_delete_decision.html"
        done = {"Release": "Released. The instance deletes them at its next sync.", "Keep": "Kept."}[verb]
        return answer_form(
            self, request, form, act, title=title, submit=title, done=done, context=context, template=template
        )

    def _list(self, selection: HeldSelection, statuses: tuple[str, ...]) -> QuerySet[HeldDelete]:
        """What the page shows: all that a form names, and of a guard endpoint what waits."""
        if selection.ids:
            return list_held_deletes().filter(pk__in=selection.ids).order_by("name", "pk")
        found = list_selected(selection, statuses)
        return list_held_deletes().filter(pk__in=found.values("pk")).order_by("name", "pk")

    # --- the page of one

    def page_context(self, request: HttpRequest, row: HeldDelete) -> dict[str, Any]:
        may_decide = may_act_somewhere(actor_of(request), Grant.Action.OPERATE)
        query = urlencode({"ids": row.pk})
        acts = [
            ("Release", "release", row.status in HeldDelete.STOPPING),
            ("Keep", "keep", row.status in HeldDelete.KEEPABLE),
        ]
        return {
            "row": row,
            "links": [
                (label, f"{self.url_of(name)}?{query}") for label, name, can in acts if can and may_decide
            ],
            "facts": [
                ("Name", self.name_shown(row)),
                ("Types", self.types_shown(row)),
                ("Status", self.status_shown(row)),
                ("Rule", self.rule_shown(row)),
                ("Why", format_foreign(row.reason)),
                ("First asked for", self.asked_shown(row)),
                ("Last asked for", self.last_shown(row)),
                ("How often", "once" if row.count == 1 else f"{row.count} times"),
                ("Decided by", format_foreign(row.decided_by) or NOTHING),
                ("Decided", format_ago(row.decided_at, never="not yet")),
                ("Reason of the decision", format_foreign(row.decision_reason) or NOTHING),
                *describe_guarded(row.guard_endpoint),
            ],
        }


def _find_chosen(chosen: dict[str, str]) -> GuardEndpoint | None:
    """The guard endpoint that a list is filtered by, if nothing else but a name narrows it."""
    if chosen.keys() - _SELECTABLE:
        return None
    text = chosen.get("guard_endpoint_name") or chosen.get("guard_endpoint", "")
    rows = GuardEndpoint.objects.all()
    if "guard_endpoint_name" not in chosen and is_id(text):
        return rows.filter(pk=int(text)).first()
    return rows.filter(slug=text).first() if text else None
