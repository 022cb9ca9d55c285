"""What a list shows beside its rows: its filters as a form, exports, saved filters, chosen columns, pages."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib.admin.utils import label_for_field
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.text import capfirst

from registry_app.admin.filters import SearchFilter
from registry_app.admin.table import Table
from registry_app.models import SavedFilter
from registry_app.queries.actor import actor_of
from registry_app.queries.saved_filter import LIST_OF_PAGE, LISTS, build_page_query, list_saved_filters

_EXPORT_FORMATS = (("CSV, for spreadsheets", "csv"), ("NDJSON, for programs", "ndjson"))


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # a runtime class, not generic
    """Counts and pages through at most `most_counted` rows; beyond them the list asks for a filter.

    Counting a million rows costs more than the page itself, and nobody turns to page 20,000.
    """

    most_counted: ClassVar[int] = 10_000
    template_name = "dnsadmin/pagination.html"

    @cached_property
    def found(self) -> int:
        """How many rows there are; `most_counted` + 1 means more than that."""
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by()[: self.most_counted + 1].count()
        return len(rows)

    @cached_property
    def count(self) -> int:
        return min(self.found, self.most_counted)

    @property
    def has_more(self) -> bool:
        return self.found > self.most_counted


class FilteredList(ChangeList):
    """The stock list, with the filters as a form of ours instead of the theme's drawer."""

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = super().get_filters_params(params)
        # Django takes it for a search of its own; here it is a filter like any other.
        own = any(isinstance(each, type) and issubclass(each, SearchFilter) for each in self.list_filter)
        if own and SEARCH_VAR in self.filter_params:
            found[SEARCH_VAR] = self.filter_params[SEARCH_VAR]
        return found

    def get_filters(self, request: HttpRequest) -> Any:
        self.actor = actor_of(request)
        specs, _has, params, duplicates, active = super().get_filters(request)
        return specs, False, params, duplicates, active

    @property
    def exports(self) -> list[tuple[str, str]]:
        """Label and address of each export of the list as it is filtered."""
        address = reverse(f"{self.opts.model_name}-export")
        return [
            (label, f"{address}?{urlencode({'format': name, **self.exported})}")
            for label, name in _EXPORT_FORMATS
        ]

    @property
    def exported(self) -> dict[str, str]:
        """The filters that narrow the list, as parameters of the API."""
        filters: dict[str, str] = {}
        for spec in self.filter_specs:
            filters.update(spec.exported)  # type: ignore[attr-defined]  # all filters are ours
        return filters

    @property
    def saved_filters(self) -> list[tuple[str, str, str]]:
        """Name, address and owner (empty: oneself) of the saved filters of this list."""
        name = LIST_OF_PAGE.get(str(self.opts.model_name))
        return [
            (row.name, address_of(row), "" if row.user_id == self.actor.user_id else str(row.user))
            for row in (list_saved_filters(self.actor, name) if name else ())
        ]

    @property
    def save_url(self) -> str:
        """The address of the form that saves the filters as they are; empty where there are none."""
        name = LIST_OF_PAGE.get(str(self.opts.model_name))
        if name is None or not self.has_active_filters:
            return ""
        query = urlencode({"list_name": name, "filters": urlencode(self.exported)})
        return f"{reverse('admin:registry_app_savedfilter_register')}?{query}"

    @property
    def column_choices(self) -> list[tuple[str, str, bool]]:
        """Name, label and whether it is shown, of each column but the first, which stays."""
        page: Any = self.model_admin
        shown = {name_column(each) for each in self.list_display}
        return [
            (
                name_column(each),
                capfirst(str(label_for_field(each, self.model, page))),
                name_column(each) in shown,
            )
            for each in page.all_columns[1:]
        ]

    @property
    def columns_url(self) -> str:
        """Where the form of the columns is sent."""
        return reverse("columns", args=[self.opts.model_name])

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        page: Any = self.model_admin
        rows: QuerySet[Any] = page.prepare(super().get_queryset(request, exclude_parameters))
        return rows

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        # The theme shows both beside the title where they differ; ours are counted up to a limit only.
        self.full_result_count = self.result_count
        self.table = Table(self)


def address_of(row: SavedFilter) -> str:
    """The page of the list with the filters of a saved one."""
    page = LISTS[row.list_name].page
    return f"{reverse(f'admin:registry_app_{page}_changelist')}?{build_page_query(row)}"


def name_column(each: Any) -> str:
    """The name by which a column is chosen."""
    return each if isinstance(each, str) else str(each.__name__)
