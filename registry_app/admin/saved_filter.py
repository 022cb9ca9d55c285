"""Saved filters: one's own and those that are shared; and what each list offers of them."""

from copy import copy
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django import forms
from django.apps import apps
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict

from registry_app.admin.filtered_list import address_of
from registry_app.admin.filters import build_choice_filter
from registry_app.admin.forms import ConfigForm, ConfigPage
from registry_app.admin.list_page import column
from registry_app.admin.wording import NOTHING, format_foreign
from registry_app.inventory.saved_filter import change_saved_filter, delete_saved_filter, save_filter
from registry_app.models import SavedFilter
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of
from registry_app.queries.saved_filter import LISTS, build_page_query, list_filters, list_pinned

_LISTS = [(name, name.replace("-", " ").capitalize()) for name in LISTS]


class _FiltersField(forms.CharField):
    """Filters as they are in an address: `state=conflict&owner=blue-cluster`."""

    def prepare_value(self, value: Any) -> Any:
        return urlencode(value) if isinstance(value, dict) else value

    def clean(self, value: Any) -> Any:
        return dict(parse_qsl(str(super().clean(value)).strip().removeprefix("?"), keep_blank_values=True))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return dict(parse_qsl(str(data or ""), keep_blank_values=True)) != (initial or {})


class SavedFilterForm(ConfigForm):
    list_name = forms.ChoiceField(label="list", choices=_LISTS)
    filters = _FiltersField(
        max_length=5_000, help_text="As in the address of an export: state=conflict&owner=blue-cluster"
    )

    sections = (("", ("name", "list_name", "filters", "group", "is_pinned")),)

    class Meta:
        model = SavedFilter
        fields = ("name", "list_name", "filters", "group", "is_pinned")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            del self.fields["list_name"]


def list_nothing(_row: SavedFilter) -> list[str]:
    """Nothing depends on a saved filter."""
    return []


@admin.register(SavedFilter)
class SavedFilterPageAdmin(ConfigPage[SavedFilter]):
    list_display = ("name_shown", "list_shown", "filters_shown", "user_shown", "group_shown", "pinned_shown")
    list_filter = (build_choice_filter("list", "list", _LISTS, column="list_name"),)
    list_select_related = ("user", "group")
    form_class = SavedFilterForm
    register = staticmethod(save_filter)
    change = staticmethod(change_saved_filter)
    delete = staticmethod(delete_saved_filter)
    find_dependents = staticmethod(list_nothing)
    noun = "filter"
    register_verb = ("Save", "Saved.")
    meaning_of_deletion = "Nobody it is shared with sees it any more. Nothing else changes."
    empty_text = "No filter is saved. Filter a list, and choose “Save this filter” below its filters."
    name_shown = column("name", lambda row: format_foreign(row.name))
    list_shown = column("list", lambda row: dict(_LISTS).get(row.list_name, row.list_name))
    filters_shown = column("filters", lambda row: format_foreign(describe_filters(row)))
    user_shown = column("of", lambda row: str(row.user))
    group_shown = column("shared with", lambda row: str(row.group or NOTHING))
    pinned_shown = column("on the dashboard", lambda row: "yes" if row.is_pinned else NOTHING)

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return []  # a filter is saved where it is used

    def refuse_to_show(self, request: HttpRequest, verb: str) -> None:
        """Everybody may save filters; whose a row is, is asked where it is known."""

    def page_links(self, request: HttpRequest, row: SavedFilter) -> list[tuple[str, str]]:
        links = [("Open the list", address_of(row))]
        actor = actor_of(request)
        is_own = row.user_id == actor.user_id
        if is_own:
            links.append(("Change", self.url_of("edit", row.pk)))
        if is_own or may_administer(actor):
            links.append(("Delete", self.url_of("remove", row.pk)))
        return links

    def facts(self, row: SavedFilter) -> list[tuple[str, object]]:
        return [
            ("List", self.list_shown(row)),
            ("Filters", self.filters_shown(row)),
            ("Of", self.user_shown(row)),
            ("Shared with", self.group_shown(row)),
            ("On the dashboard", self.pinned_shown(row)),
        ]

    def edit_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if self.find_row(request, pk).user_id != actor_of(request).user_id:
            raise PermissionDenied("Only the person who saved a filter may change it.")
        return super().edit_view(request, pk)

    def remove_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        actor = actor_of(request)
        if self.find_row(request, pk).user_id != actor.user_id and not may_administer(actor):
            raise PermissionDenied("Only the person who saved a filter may delete it.")
        return super().remove_view(request, pk)


def describe_filters(row: SavedFilter) -> str:
    """`state conflict, owner blue-cluster`."""
    return ", ".join(f"{name} {text}" for name, text in list_filters(row))


_MOST_COUNTED = 1_000
# Of so many rows that a filter may have to read them all to find few.
_LARGE = frozenset({"audit-entries", "desired-endpoints", "guard-decisions", "record-sets", "sync-runs"})
_INDEXED = frozenset({"q", "owner", "name_prefix", "name_suffix"})


def describe_pinned(request: HttpRequest) -> list[tuple[str, str, str]]:
    """Name, address and, where it costs little, the count of each filter on the dashboard of a person."""
    rows = list_pinned(actor_of(request))
    return [(row.name, address_of(row), _count(request, row) if _is_cheap(row) else "") for row in rows]


def _is_cheap(row: SavedFilter) -> bool:
    if row.list_name not in _LARGE:
        return True
    return row.list_name == "record-sets" and not _INDEXED.isdisjoint(row.filters)


def _count(request: HttpRequest, row: SavedFilter) -> str:
    """How many rows the page of the list shows with these filters, up to a limit."""
    page: Any = admin.site.get_model_admin(apps.get_model("registry_app", LISTS[row.list_name].page))
    asked = copy(request)
    asked.GET = QueryDict(build_page_query(row))
    parameters = dict(asked.GET.lists())
    found = page.get_queryset(asked)
    for build in page.list_filter:
        found = build(asked, parameters, page.model, page).queryset(asked, found)
    count = found.order_by()[: _MOST_COUNTED + 1].count()
    return str(count) if count <= _MOST_COUNTED else f"{_MOST_COUNTED}+"
