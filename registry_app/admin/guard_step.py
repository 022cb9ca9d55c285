"""Change sets that the guard sent for instances, and what was read back."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.guard_endpoint import link_to_guard_endpoint
from registry_app.admin.list_page import ListPage, ago_column, column, number_column
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_foreign, link_to
from registry_app.models import GuardEndpoint, GuardStep, Provider
from registry_app.queries.guard_decision import list_guard_steps
from registry_app.queries.transfer import SHOWN_CHARACTERS

_SHOWN_ITEMS = 200


@admin.register(GuardStep)
class GuardStepPageAdmin(ListPage[GuardStep]):
    list_display = (
        "id_shown",
        "endpoint_shown",
        "provider_shown",
        "status_shown",
        "deletes",
        "retargets",
        "stored_shown",
        "answer_shown",
    )
    list_filter = (
        build_row_filter("guard endpoint", "guard_endpoint", GuardEndpoint),
        build_row_filter("provider", "provider", Provider),
        build_choice_filter("status", "status", GuardStep.Status.choices),
    )
    list_select_related = False
    list_title = "Change sets of the guard"
    page_template = "dnsadmin/guard_step.html"
    empty_text = (
        "The guard sent nothing yet. In the modes observe and enforce it sends what instances change, and "
        "reads it back."
    )
    id_shown = number_column("change set")
    provider_shown = column("provider", lambda row: link_to(row.provider))
    status_shown = column("status", lambda row: format_badge(row.status, GuardStep.Status(row.status).label))
    stored_shown = ago_column("stored_at", "sent")
    answer_shown = column("answer", lambda row: format_foreign(row.answer) or NOTHING)

    def find_rows(self, request: HttpRequest) -> QuerySet[GuardStep]:
        rows = list_guard_steps().order_by("-pk")
        # A change set may be large, and a list shows none of it.
        is_list = request.resolver_match is not None and "object_id" not in request.resolver_match.kwargs
        return rows.defer("change_set", "items") if is_list else rows

    @admin.display(description="guard endpoint")
    def endpoint_shown(self, row: GuardStep) -> SafeString | str:
        return link_to_guard_endpoint(row.guard_endpoint) if row.guard_endpoint else f"{row.slug} (deleted)"

    def page_context(self, request: HttpRequest, row: GuardStep) -> dict[str, Any]:
        return {
            "row": row,
            "items": row.items[:_SHOWN_ITEMS],
            "shown_characters": f":{SHOWN_CHARACTERS}",
            "facts": [
                ("Guard endpoint", self.endpoint_shown(row)),
                ("Provider", self.provider_shown(row)),
                ("Status", self.status_shown(row)),
                ("Answer", self.answer_shown(row)),
                ("Record sets deleted", row.deletes),
                ("Record sets retargeted", row.retargets),
                ("Sent", self.stored_shown(row)),
                ("Answered", format_ago(row.answered_at, never="not yet")),
                ("Read back", format_ago(row.read_back_at, never="not yet")),
            ],
        }
