"""Held snapshots: what was not believed, why, and a person's decision."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.answer import answer_act
from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.list_page import ListPage
from registry_app.admin.wording import format_ago, format_badge
from registry_app.errors import InvalidRequest
from registry_app.models import PROVIDER_SECRETS, HeldSnapshot, Provider
from registry_app.queries.access import may_operate
from registry_app.queries.actor import actor_of
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot

_COUNTS: Final = {
    "known": "Record sets in the mirror",
    "seen": "Record sets in this snapshot",
    "vanished": "Gone",
    "appeared": "New",
    "owner_changed": "With another owner",
    "value_changed": "Changed",
    "claims_known": "Claims in the mirror",
    "claims_seen": "Claims in this snapshot",
}


class DecisionForm(forms.Form):
    """The reason of a decision, and which answer the page showed."""

    reason = forms.CharField(required=False, max_length=4000)
    seen = forms.CharField(max_length=64)

    def read(self) -> tuple[str, str]:
        """Reason and digest. Raises InvalidRequest for a form that is not ours."""
        if not self.is_valid():
            raise InvalidRequest(
                "The form is not valid.",
                fields={name: [str(text) for text in texts] for name, texts in self.errors.items()},
                todo="Open the page again.",
            )
        return str(self.cleaned_data["reason"]), str(self.cleaned_data["seen"])


@admin.register(HeldSnapshot)
class HeldSnapshotPageAdmin(ListPage[HeldSnapshot]):
    list_display = (
        "id_shown",
        "provider",
        "status_shown",
        "created_shown",
        "last_shown",
        "occurrences",
        "decided_by",
    )
    list_filter = (
        build_choice_filter("status", "status", HeldSnapshot.Status.choices),
        build_row_filter("provider", "provider", Provider),
    )
    list_select_related = ("provider",)
    sortable_by = ()
    page_template = "dnsadmin/held_snapshot.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[HeldSnapshot]:
        # The body may be tens of megabytes; nobody reads it here.
        return super().get_queryset(request).select_related("provider").defer("body", *PROVIDER_SECRETS)

    def empty_reason(self, request: HttpRequest) -> str:
        return "No snapshot was held: every response of the providers was plausible."

    def urls_beside(self) -> list[URLPattern]:
        return [
            self.page_path("<int:pk>/accept/", self.accept_view, "accept"),
            self.page_path("<int:pk>/reject/", self.reject_view, "reject"),
        ]

    @admin.display(description="snapshot")
    def id_shown(self, row: HeldSnapshot) -> str:
        return f"#{row.pk}"

    @admin.display(description="status")
    def status_shown(self, row: HeldSnapshot) -> SafeString:
        return format_badge(row.status, row.get_status_display())

    @admin.display(description="first seen")
    def created_shown(self, row: HeldSnapshot) -> SafeString:
        return format_ago(row.created_at)

    @admin.display(description="last seen")
    def last_shown(self, row: HeldSnapshot) -> SafeString:
        return format_ago(row.last_seen_at)

    def page_context(self, request: HttpRequest, row: HeldSnapshot) -> dict[str, Any]:
        may_decide = may_operate(actor_of(request), row.provider)
        is_open = row.status == HeldSnapshot.Status.OPEN
        return {
            "row": row,
            "counts": describe_counts(row.difference),
            "samples": describe_samples(row.difference),
            "domain_filter": row.difference.get("domain_filter"),
            "may_accept": may_decide and (is_open or self._is_rejected_and_held(row)),
            "may_reject": may_decide and is_open,
            "is_undecided": is_open and not may_decide,
            "accept_url": self.url_of("accept", row.pk),
            "reject_url": self.url_of("reject", row.pk),
        }

    def accept_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(actor: Actor) -> object:
            reason, seen = DecisionForm(request.POST).read()
            return accept_held_snapshot(actor, pk, reason=reason, seen=seen)

        done = "Accepted. The next sync compares with this snapshot and stores what it reads."
        return answer_act(request, act, done=done, back=self.url_of("change", pk))

    def reject_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(actor: Actor) -> object:
            reason, seen = DecisionForm(request.POST).read()
            return reject_held_snapshot(actor, pk, reason=reason, seen=seen)

        return answer_act(
            request, act, done="Rejected. The mirror stays as it was.", back=self.url_of("change", pk)
        )

    @staticmethod
    def _is_rejected_and_held(row: HeldSnapshot) -> bool:
        """A wrong rejection can be taken back while the provider still says the same."""
        is_held = row.provider.status == Provider.Status.HELD
        return is_held and row.status == HeldSnapshot.Status.REJECTED


def describe_counts(difference: Mapping[str, Any]) -> list[tuple[str, object]]:
    """What the snapshot comes to beside the mirror, in figures; those of nothing are left out."""
    return [(label, difference[key]) for key, label in _COUNTS.items() if difference.get(key)]


def describe_samples(difference: Mapping[str, Any]) -> list[tuple[str, int, list[str]]]:
    """The first record sets of each difference: what it is, how many there are, and the first of them."""
    samples: Mapping[str, list[str]] = difference.get("samples") or {}
    return [
        (_COUNTS.get(kind, kind.replace("_", " ").capitalize()), difference.get(kind, len(names)), names)
        for kind, names in samples.items()
    ]
