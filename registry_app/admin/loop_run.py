"""Loop runs: what each planned, sent, and read back."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from registry_app.admin.fields import is_id
from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.list_page import ListPage, ago_column, badge_column, build_column, number_column
from registry_app.admin.wording import NOTHING, describe_trigger, format_ago, link_to
from registry_app.loop.step_changes import parse_items
from registry_app.models import Loop, LoopRun, Provider
from registry_app.queries.transfer import SHOWN_CHARACTERS

_SHOWN_STEPS = 50
_SHOWN_ITEMS = 100
_SHOWN_LEFT_ALONE = 200


class LoopFilter(build_row_filter("loop of", "loop", Loop, label_column="owner__owner_id")):  # type: ignore[misc]  # a class made by a factory
    """By its owner, or by its id in links."""

    @property
    def exported(self) -> dict[str, str]:
        if self.typed_name or not is_id(self.typed):
            owner_id = self.typed_name or self.typed
            return {"owner": owner_id} if owner_id else {}
        return {"loop": self.typed}


@admin.register(LoopRun)
class LoopRunPageAdmin(ListPage[LoopRun]):
    list_display = (
        "id_shown",
        "owner",
        "provider",
        "status_shown",
        "trigger",
        "started_shown",
        "created",
        "updated",
        "deleted",
        "not_as_wanted",
        build_column("left_alone_count", "left alone"),
    )
    list_filter = (
        LoopFilter,
        build_row_filter("provider", "provider", Provider),
        build_choice_filter("status", "status", LoopRun.Status.choices),
    )
    list_select_related = ("owner", "provider")
    page_template = "dnsadmin/loop_run.html"
    empty_text = "No loop ran yet. Runs begin when a loop is registered and the scheduler runs."
    id_shown = number_column("run")
    status_shown = badge_column("status", "status")
    started_shown = ago_column("started_at", "started")

    def page_context(self, request: HttpRequest, row: LoopRun) -> dict[str, Any]:
        steps = row.steps.order_by("ordinal")
        return {
            "row": row,
            "steps": [(step, parse_items(step)) for step in steps[:_SHOWN_STEPS]],
            "shown_items": f":{_SHOWN_ITEMS}",
            "shown_characters": f":{SHOWN_CHARACTERS}",
            "step_count": steps.count(),
            "left_alone": row.left_alone[:_SHOWN_LEFT_ALONE],
            "facts": [
                ("Owner", link_to(row.owner)),
                ("Provider", link_to(row.provider)),
                ("Status", self.status_shown(row)),
                ("Reason", row.reason or NOTHING),
                ("Begun by", describe_trigger(row)),
                ("Source", row.source),
                ("Policy", row.get_policy_display()),
                ("Started", format_ago(row.started_at)),
                ("Finished", format_ago(row.finished_at, never="not yet")),
                ("Created", row.created),
                ("Updated", row.updated),
                ("Deleted", row.deleted),
                ("Not as wanted", row.not_as_wanted),
                ("Left alone", row.left_alone_count),
            ],
        }
