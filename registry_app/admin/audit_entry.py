"""The audit trail: who did what, when, why, from what to what; and whether the chain is valid."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect

from registry_app.admin.filters import build_choice_filter, build_text_filter
from registry_app.admin.list_page import ListPage, ago_column, column
from registry_app.admin.wording import NOTHING, format_ago
from registry_app.audit import verify_audit
from registry_app.models import AuditEntry
from registry_app.queries.audit_entry import build_object_query
from registry_app.queries.named_row import build_prefix_query

_KINDS = [("user", "Person"), ("token", "Token"), ("command", "Command"), ("system", "System")]


@admin.register(AuditEntry)
class AuditEntryPageAdmin(ListPage[AuditEntry]):
    list_display = ("sequence_shown", "at_shown", "actor_shown", "action", "object_shown", "reason_shown")
    list_filter = (
        build_text_filter("who", "actor", lambda text: Q(actor_name=text)),
        build_text_filter(
            "what begins with",
            "action_prefix",
            lambda text: build_prefix_query("action", text),
            hint="transfer.",
        ),
        build_text_filter("object", "object", build_object_query, hint="provider 3"),
        build_choice_filter("through", "through", _KINDS, column="actor_kind"),
    )
    old_filters = {"action": "action_prefix"}
    page_template = "dnsadmin/audit_entry.html"
    pages = {"verify": "verify/"}
    empty_text = "There are no entries yet."
    change_list_template = "dnsadmin/audit_list.html"
    at_shown = ago_column("at", "when")
    sequence_shown = column("entry", lambda row: f"#{row.sequence}")
    actor_shown = column(
        "who",
        lambda row: row.actor_name if row.actor_kind == "user" else f"{row.actor_name} ({row.actor_kind})",
    )
    object_shown = column("object", lambda row: row.object_label or f"{row.object_type} {row.object_id}")
    reason_shown = column("why", lambda row: row.reason or NOTHING)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(
            request, {"verify_url": self.url_of("verify"), **(extra_context or {})}
        )

    def page_context(self, request: HttpRequest, row: AuditEntry) -> dict[str, Any]:
        return {
            "row": row,
            "facts": [
                ("When", format_ago(row.at)),
                ("Who", self.actor_shown(row)),
                ("What", row.action),
                ("Object", f"{row.object_type} {row.object_id}: {row.object_label}"),
                ("Why", row.reason or NOTHING),
                ("Request", row.request_id or NOTHING),
                ("Hash", row.hash),
                ("Hash before", row.previous_hash),
            ],
        }

    def verify_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        fault = verify_audit()
        if fault is None:
            messages.success(request, "The chain is valid from the first entry to the last.")
        else:
            messages.error(
                request,
                f"The chain is broken at entry {fault.sequence}: {fault.problem}. The entries before "
                "it are valid. Compare with an exported checkpoint or a backup before you trust the "
                "entries after it.",
            )
        return redirect(self.url_of("changelist"))
