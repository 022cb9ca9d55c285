"""Held snapshots: why each is implausible, and a person's decision."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.forms import build_act_view
from registry_app.admin.list_page import ListPage, ago_column, badge_column, number_column
from registry_app.errors import InvalidRequest
from registry_app.models import HeldSnapshot, Provider
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
    """The reason of a decision, and the digest of the snapshot that the page showed."""

    reason = forms.CharField(required=False, max_length=4000)
    seen = forms.CharField(max_length=64)


def read_decision(request: HttpRequest) -> dict[str, Any]:
    """Reason and digest. Raises InvalidRequest for a form that is not ours."""
    form = DecisionForm(request.POST)
    if not form.is_valid():
        raise InvalidRequest(
            "The form is not valid.",
            fields={name: [str(text) for text in texts] for name, texts in form.errors.items()},
            todo="Open the page again.",
        )
    return form.cleaned_data


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
    page_template = "dnsadmin/held_snapshot.html"
    pages = {"accept": "<int:pk>/accept/", "reject": "<int:pk>/reject/"}
    empty_text = "No snapshot was held: every response of the providers was plausible."
    id_shown = number_column("snapshot")
    status_shown = badge_column("status", "status")
    created_shown = ago_column("created_at", "first seen")
    last_shown = ago_column("last_seen_at", "last seen")

    def find_rows(self, request: HttpRequest) -> QuerySet[HeldSnapshot]:
        # The body may be tens of megabytes; nobody reads it here.
        return super().find_rows(request).defer("body")

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

    accept_view = build_act_view(
        accept_held_snapshot,
        "Accepted. The next sync compares with this snapshot and stores what it reads.",
        read=read_decision,
    )
    reject_view = build_act_view(
        reject_held_snapshot, "Rejected. The mirror stays as it was.", read=read_decision
    )

    @staticmethod
    def _is_rejected_and_held(row: HeldSnapshot) -> bool:
        """A wrong rejection can be reversed while the provider still returns the same."""
        is_held = row.provider.status == Provider.Status.HELD
        return is_held and row.status == HeldSnapshot.Status.REJECTED


def describe_counts(difference: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The numbers of the difference from the mirror, without those that are zero."""
    return [(label, difference[key]) for key, label in _COUNTS.items() if difference.get(key)]


def describe_samples(difference: Mapping[str, Any]) -> list[tuple[str, int, list[str]]]:
    """The first record sets of each difference: what it is, how many there are, and the first of them."""
    samples: Mapping[str, list[str]] = difference.get("samples") or {}
    return [
        (_COUNTS.get(kind, kind.replace("_", " ").capitalize()), difference.get(kind, len(names)), names)
        for kind, names in samples.items()
    ]
