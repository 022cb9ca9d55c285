"""Contention: names where what instances want and what is owned do not agree."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from registry_app.admin.filters import RowFilter, build_choice_filter, build_row_filter, build_text_filter
from registry_app.admin.list_page import ListPage, ago_column, badge_column, column
from registry_app.admin.transfer_form import sign_selection
from registry_app.admin.wording import (
    NOTHING,
    format_ago,
    format_badge,
    format_foreign,
    format_targets,
    link_to,
)
from registry_app.models import Contention, ContentionCheck, ContentionOwner, Grant, Owner, Provider, Transfer
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.contention import build_owner_query, list_contention
from registry_app.queries.named_row import build_suffix_query
from registry_app.transfer.plan.transfer_request import Selection

_BREAK = format_html("{}<br>", "")


class NamedOwnerFilter(RowFilter):
    """The owners that a contention names: each wants the name, or owns what is there."""

    title = "owner"
    parameter_name = "owner"
    column = "pk"
    rows = Owner
    label_column = "owner_id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.typed_name or not self.typed.isdigit():
            return super().queryset(request, queryset)
        return queryset.filter(build_owner_query(int(self.typed)))

    def _filter_by_name(self, queryset: QuerySet[Any], name: str) -> QuerySet[Any]:
        named = ContentionOwner.objects.filter(owner__owner_id=name)
        return queryset.filter(pk__in=named.values("contention"))


@admin.register(Contention)
class ContentionPageAdmin(ListPage[Contention]):
    list_display = (
        "name_shown",
        "kind_shown",
        "types_shown",
        "wanted_shown",
        "owned_shown",
        "provider_shown",
        "since_shown",
        "known_shown",
    )
    list_filter = (
        build_choice_filter("kind", "kind", Contention.Kind.choices),
        NamedOwnerFilter,
        build_row_filter("provider", "provider", Provider),
        build_text_filter("at or below", "name_suffix", build_suffix_query, hint="example.org"),
    )
    list_select_related = False
    page_template = "dnsadmin/facts.html"
    empty_text = (
        "All that the instances behind the guard want is there, and is theirs. Contention is computed about "
        "a minute after a change. It needs guard endpoints whose instances posted what they want."
    )
    kind_shown = badge_column("kind", "kind")
    types_shown = column("types", lambda row: format_foreign(", ".join(row.record_types)))
    wanted_shown = column("wanted by", lambda row: _join(_list_owners(row.wanted_by)))
    owned_shown = column("owned by", lambda row: _join(_list_owners(row.owned_by)))
    provider_shown = column("provider", lambda row: link_to(row.provider))
    since_shown = ago_column("since", "since")
    known_shown = column("known", lambda row: _format_freshness(is_stale=row.is_stale))

    def find_rows(self, request: HttpRequest) -> QuerySet[Contention]:
        return list_contention().order_by("name", "pk")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        checks = ContentionCheck.objects.exclude(left_out={}).order_by("provider__name")
        for provider, left_out in checks.values_list("provider__name", "left_out"):
            number = sum(left_out.values())
            messages.warning(request, f"{number} more at {provider} are not listed one by one.")
        return super().changelist_view(request, extra_context)

    @admin.display(description="name")
    def name_shown(self, row: Contention) -> SafeString:
        identifier = f" ({format_foreign(row.set_identifier)})" if row.set_identifier else ""
        return format_html('<bdi class="dn-name">{}{}</bdi>', format_foreign(row.name), identifier)

    def page_context(self, request: HttpRequest, row: Contention) -> dict[str, Any]:
        facts = [
            ("Name", format_foreign(row.name)),
            ("Set identifier", format_foreign(row.set_identifier) or NOTHING),
            ("What", row.get_kind_display()),
            ("Types", format_foreign(", ".join(row.record_types))),
            ("Provider", link_to(row.provider)),
            ("Since", self.since_shown(row)),
            ("Wanted by", _format_lines(map(_format_wish, row.wanted_by))),
            ("There", _format_lines(map(_format_held, row.owned_by))),
            ("What to do", format_foreign(row.advice)),
        ]
        if row.suggestion and may_act_somewhere(actor_of(request), Grant.Action.REQUEST):
            facts.append(("Suggested", _link_to_request(row.suggestion)))
        return {"row": row, "facts": facts}


def _format_wish(wish: Mapping[str, Any]) -> SafeString:
    about = wish["guard_endpoint"]
    since = parse_datetime(str(wish["since"]))
    return format_html(
        '{} {} at <a class="dn-link" href="{}">{}</a> of {}, since {} {}',
        format_foreign(", ".join(wish["types"])),
        format_targets(wish["targets"]),
        reverse("admin:registry_app_guardendpoint_change", args=[about["id"]]),
        about["slug"],
        format_foreign(wish["owner"]),
        format_ago(since),
        _format_freshness(is_stale=bool(wish["is_stale"])),
    )


def _format_held(held: Mapping[str, Any]) -> SafeString:
    return format_html(
        '<a class="dn-link" href="{}">{}</a> {}',
        reverse("admin:registry_app_recordset_change", args=[held["record_set"]]),
        format_foreign(held["type"]),
        f"of {format_foreign(held['owner'])}" if held["owner"] else held["state"],
    )


def _format_lines(lines: Iterable[SafeString]) -> SafeString | str:
    return format_html_join(_BREAK, "{}", ((line,) for line in lines)) or NOTHING


def _format_freshness(*, is_stale: bool) -> SafeString:
    return format_badge("stale", "Stale") if is_stale else format_badge("ok", "Current")


def _list_owners(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({str(row["owner"]) for row in rows if row["owner"]})


def _join(owner_ids: Iterable[str]) -> str:
    return format_foreign(", ".join(owner_ids)) or NOTHING


def _link_to_request(suggestion: Mapping[str, Any]) -> SafeString:
    kind = Transfer.Kind(suggestion["kind"])
    picked = Selection(record_set_ids=tuple(suggestion["selection"]["record_set_ids"]))
    query = urlencode(
        {
            "kind": kind.value,
            "target_owner_id": suggestion["target_owner_id"],
            "picked": sign_selection(picked),
        }
    )
    address = f"{reverse('admin:registry_app_transfer_request')}?{query}"
    return format_html('<a class="dn-link" href="{}">{}</a>', address, kind.label)
