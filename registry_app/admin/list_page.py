"""What all pages share: a read-only list, and pages beside it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Generic

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from registry_app.admin.filtered_list import CappedPaginator, FilteredList, name_column
from registry_app.admin.site import Row, ThemedAdmin
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_foreign, format_look_alike
from registry_app.models import PROVIDER_SECRETS, Owner
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of
from registry_app.queries.owner import find_look_alikes
from registry_app.queries.readable import readable
from registry_app.queries.saved_filter import (
    fetch_chosen_columns,
)

# The admin calls a column of a page with the page and a row.
Column = Callable[[Any, Any], Any]


def build_column(field: str, title: str) -> Callable[[models.Model], Any]:
    """A plain column with a title for people instead of the name of the field."""

    def shown(row: models.Model) -> Any:
        return getattr(row, field)

    shown.__name__ = field
    return admin.display(shown, description=title)


def badge_column(field: str, title: str) -> Column:
    """A column with the label of a choice on its colour."""
    return column(
        title, lambda row: format_badge(getattr(row, field), getattr(row, f"get_{field}_display")())
    )


def ago_column(field: str, title: str, *, never: str = "never") -> Column:
    """A column with the distance of a time."""
    return column(title, lambda row: format_ago(getattr(row, field), never=never))


def number_column(title: str) -> Column:
    """A column with the number that people know a row by."""
    return column(title, lambda row: f"#{row.pk}")


def column(title: str, format_row: Callable[[Any], Any]) -> Column:
    """A column of what `format_row` makes of a row."""

    def shown(_page: Any, row: Any) -> Any:
        return format_row(row)

    return admin.display(shown, description=title)


class ListPage(ThemedAdmin[Row], Generic[Row]):
    """A list and its pages. Nothing is added, changed or deleted here but through a mutation of the app.

    Everybody who may read sees it, as in the API; the mutation decides who may act.
    """

    change_list_template = "dnsadmin/list.html"
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    actions_on_top = True
    list_disable_select_all = True
    list_fullwidth = True
    sortable_by = ()
    empty_value_display = NOTHING
    page_template: ClassVar[str] = "dnsadmin/page.html"
    # What the list is called, where that is not the name of the model.
    list_title: ClassVar[str] = ""
    # Why an unfiltered list shows nothing, and what to do about it.
    empty_text: ClassVar[str] = ""
    # Old names of filters, which links have, and their names.
    old_filters: ClassVar[Mapping[str, str]] = {}
    # Columns that are shown to whoever chooses them.
    more_columns: ClassVar[tuple[Any, ...]] = ()
    # More pages under the address of the list: a route for each name; `NAME_view` answers it.
    pages: ClassVar[Mapping[str, str]] = {}
    # Which of them has the form of a new row.
    form_page: ClassVar[str] = ""

    # --- who

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return may_read(actor_of(request))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    # --- the list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Row]:
        """The rows of `find_rows` that the person may read."""
        return readable(actor_of(request), self.find_rows(request))

    def find_rows(self, request: HttpRequest) -> QuerySet[Row]:
        """All rows, with the related rows that the list shows, without secrets."""
        related = self.list_select_related
        rows = super().get_queryset(request)
        if not isinstance(related, tuple):
            return rows
        return rows.select_related(*related).defer(*(PROVIDER_SECRETS if "provider" in related else ()))

    def prepare(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        """The same rows, when all filters are known."""
        return rows

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FilteredList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        # Stock Django lets a URL filter by any column and lookup, hashes and regular expressions included.
        names = {str(getattr(spec, "parameter_name", "")) for spec in self.get_list_filter(request)}
        return lookup.removesuffix("_name") in names

    @property
    def all_columns(self) -> tuple[Any, ...]:
        """What a person can choose among."""
        return (*self.list_display, *self.more_columns)

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        chosen = fetch_chosen_columns(actor_of(request), str(self.opts.model_name))
        if not chosen:
            return tuple(self.list_display)
        first, *others = self.all_columns
        return (first, *(each for each in others if name_column(each) in chosen))

    def empty_reason(self, request: HttpRequest) -> str:
        return self.empty_text

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if self.old_filters.keys() & request.GET.keys():
            return redirect(f"{request.path}?{_rename(request.GET, self.old_filters).urlencode()}")
        context = {
            "title": self.list_title or capfirst(self.opts.verbose_name_plural),
            "empty_text": partial(self.empty_reason, request),
            "list_links": self.list_links(request),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Label and address of the buttons above the list."""
        return []

    # --- pages

    def get_urls(self) -> list[URLPattern]:
        return [self.build_path(route, name) for name, route in self.pages.items()] + super().get_urls()

    def build_path(self, route: str, name: str) -> URLPattern:
        view: Callable[..., HttpResponseBase] = getattr(self, f"{name}_view")

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return path(route, self.admin_site.admin_view(guarded), name=self.url_name(name))

    def url_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def url_of(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{self.url_name(name)}", args=args)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The address that people know from Django leads to the form of ours."""
        if request.method != "GET":
            raise PermissionDenied
        if not self.form_page:
            raise Http404
        return redirect(self.url_of(self.form_page))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.find_row(request, object_id)
        return self.show(request, self.page_template, self.title_of(row), self.page_context(request, row))

    def find_row(self, request: HttpRequest, object_id: str | int) -> Row:
        row = self.get_object(request, str(object_id))
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id}.")
        return row

    def title_of(self, row: Row) -> str:
        return format_foreign(row)

    def page_context(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        """What the page of one row shows."""
        return {"row": row}

    def show(
        self, request: HttpRequest, template: str, title: str, context: dict[str, Any], *, status: int = 200
    ) -> HttpResponse:
        """One of our pages, inside the theme."""
        values = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "list_url": self.url_of("changelist"),
            "list_title": self.list_title,
            "is_fullwidth": "1",
            **context,
        }
        return TemplateResponse(request, template, values, status=status)


def _rename(query: QueryDict, names: Mapping[str, str]) -> QueryDict:
    renamed = QueryDict(mutable=True)
    for name, values in query.lists():
        renamed.setlistdefault(names.get(name, name), values)
    return renamed


class OwnerList(ListPage[Row], Generic[Row]):
    """A list whose rows name owners."""

    def owners_of(self, row: Row) -> Iterable[Owner | None]:
        """The owners that a row names, loaded with the row."""
        raise NotImplementedError

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        # One query for the whole page: what is found rides on the rows that are shown.
        rows = list(changes.result_list)
        named = (owner for row in rows for owner in self.owners_of(row))
        look_alikes = find_look_alikes(owner.owner_id for owner in named if owner)
        for row in rows:
            row.look_alikes = look_alikes
        changes.result_list = rows
        return changes

    @staticmethod
    def mark(row: Row, owner: Owner | None) -> SafeString | str:
        """The mark of an owner that a row names; empty for none."""
        found: Mapping[str, str] = getattr(row, "look_alikes", {})
        return format_look_alike(found, owner.owner_id) if owner else ""
