"""Syncs: what each read, stored, or failed at."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html

from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.list_page import (
    ListPage,
    ago_column,
    badge_column,
    build_column,
    number_column,
)
from registry_app.admin.wording import NOTHING, describe_trigger, format_ago, link_to
from registry_app.models import Provider, SyncRun


@admin.register(SyncRun)
class SyncRunPageAdmin(ListPage[SyncRun]):
    list_display = (
        "id_shown",
        "provider",
        "status_shown",
        "trigger",
        "started_shown",
        "repeated_shown",
        "seen",
        "created",
        "changed",
        "vanished",
        "returned",
        "took_shown",
        build_column("error_code", "error"),
    )
    list_filter = (
        build_row_filter("provider", "provider", Provider),
        build_choice_filter("status", "status", SyncRun.Status.choices),
    )
    list_select_related = ("provider",)
    page_template = "dnsadmin/facts.html"
    empty_text = (
        "No provider was synced yet. Syncs start when a provider is registered and the scheduler runs."
    )
    id_shown = number_column("sync")
    status_shown = badge_column("status", "status")
    started_shown = ago_column("started_at", "started")

    @admin.display(description="repeated")
    def repeated_shown(self, row: SyncRun) -> str:
        if row.sync_count == 1:
            return NOTHING
        return format_html("{} times, last {}", row.sync_count, format_ago(row.repeated_until))

    @admin.display(description="took")
    def took_shown(self, row: SyncRun) -> str:
        parts = [part for part in (row.fetch_milliseconds, row.store_milliseconds) if part is not None]
        return f"{sum(parts)}\N{NO-BREAK SPACE}ms" if parts else NOTHING

    def page_context(self, request: HttpRequest, row: SyncRun) -> dict[str, Any]:
        counts = ("seen", "created", "changed", "vanished", "returned", "purged", "set_aside", "claims")
        return {
            "row": row,
            "facts": [
                ("Provider", link_to(row.provider)),
                ("Status", self.status_shown(row)),
                ("Begun by", describe_trigger(row)),
                ("Started", format_ago(row.started_at)),
                ("Finished", format_ago(row.finished_at, never="not yet")),
                ("Repeated", self.repeated_shown(row)),
                ("Fetched in", _format_milliseconds(row.fetch_milliseconds)),
                ("Stored in", _format_milliseconds(row.store_milliseconds)),
                ("Answer", f"{row.body_bytes} bytes" if row.body_bytes is not None else NOTHING),
                ("Items read", _describe_items_read(row)),
                *((name.replace("_", " ").capitalize(), getattr(row, name)) for name in counts),
                ("Error", f"{row.error_code}: {row.error}" if row.error_code else NOTHING),
            ],
        }


def _describe_items_read(row: SyncRun) -> str:
    if row.whole_reading:
        return f"all: {row.get_whole_reading_display()}"
    if row.store_milliseconds is None:
        return NOTHING  # it ended before anything was read, or there was nothing new to read
    if row.items_read is None:
        return "all"
    return f"{row.items_read}: those that changed, and those that are linked with them"


def _format_milliseconds(number: int | None) -> str:
    return NOTHING if number is None else f"{number} ms"
