"""Filters of lists: each is one field of a plain form, and one parameter of the URL."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from django.contrib.admin import ModelAdmin, SimpleListFilter
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from registry_app.admin.fields import NAME_OF, build_search_address, build_suggestions, is_id, suggest
from registry_app.queries.actor import actor_of
from registry_app.queries.awaiting_consent import select_awaiting_consent
from registry_app.queries.readable import readable
from registry_app.queries.search import explain_unsearchable


class ListFilter(SimpleListFilter):
    """A filter that is shown even if there is nothing to choose."""

    kind: ClassVar[str] = "select"
    hint: ClassVar[str] = ""
    unchosen: ClassVar[str] = "Any"

    def has_output(self) -> bool:
        return True

    @property
    def typed(self) -> str:
        """The value in the URL, as it was typed. PostgreSQL refuses a NUL, and nothing stored has one."""
        return (self.value() or "").strip().replace("\0", "\N{REPLACEMENT CHARACTER}")

    @property
    def exported(self) -> dict[str, str]:
        """The same filter as a parameter of the API; nothing where it does not narrow."""
        return {str(self.parameter_name): self.typed} if self.typed else {}

    @property
    def options(self) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in self.lookup_choices]


class TextFilter(ListFilter):
    """A filter one types into. `narrow` makes a condition of the text."""

    kind = "text"
    narrow: ClassVar[Callable[..., Q]]

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(self.narrow(self.typed)) if self.typed else queryset


class SearchFilter(TextFilter):
    """A text that is found in any place, under the same name in each list, on the search page and in the
    API."""

    title = "search"
    parameter_name = "q"
    search: ClassVar[Callable[..., QuerySet[Any]]]

    @property
    def problem(self) -> str:
        """Why nothing is searched for."""
        return explain_unsearchable(self.typed) if self.typed else ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.typed:
            return queryset
        return queryset.none() if self.problem else self.search(queryset, self.typed)


class ChoiceFilter(ListFilter):
    """A filter over fixed choices of one column."""

    column: ClassVar[str]
    choices_shown: ClassVar[Iterable[tuple[Any, Any]]] = ()
    # Whether an address may name several of them, comma-separated, as in the API.
    takes_several: ClassVar[bool] = False

    @property
    def chosen(self) -> list[str]:
        """What is chosen; nothing where any of it is no choice."""
        known = {str(value) for value, _label in self.lookup_choices}
        given = self.typed.split(",") if self.takes_several else [self.typed]
        return given if known.issuperset(given) else []

    @property
    def options(self) -> list[tuple[str, str]]:
        options = super().options
        if len(self.chosen) > 1:
            labels = dict(options)
            options.append((self.typed, ", ".join(labels[each] for each in self.chosen)))
        return options

    @property
    def exported(self) -> dict[str, str]:
        return super().exported if self.chosen else {}

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in self.choices_shown]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if len(self.chosen) > 1:
            return queryset.filter(**{f"{self.column}__in": self.chosen})
        return queryset.filter(**{self.column: self.typed}) if self.chosen else queryset


class RowFilter(ListFilter):
    """A filter over the rows of another table: by primary key or name in links, by name as it is typed.

    The two are two parameters (`owner`, `owner_name`), because an owner id may look like a primary key.
    """

    kind = "search"
    column: ClassVar[str]
    rows: ClassVar[type[Model]]
    label_column: ClassVar[str]

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: "ModelAdmin[Any]"
    ) -> None:
        super().__init__(request, params, model, model_admin)
        self.known = readable(actor_of(request), self.rows._default_manager.all())
        given = params.pop(self.name_parameter, [])
        text = given[-1] if isinstance(given, list) and given else given or ""
        self.typed_name = str(text).strip().replace("\0", "\N{REPLACEMENT CHARACTER}")
        if self.typed_name:
            self.used_parameters[self.name_parameter] = self.typed_name

    @property
    def name_parameter(self) -> str:
        return f"{self.parameter_name}_name"

    @property
    def list_id(self) -> str:
        return f"filter_{self.parameter_name}"

    @property
    def search_address(self) -> str:
        return build_search_address(self.rows) if "__" not in self.label_column else ""

    @property
    def suggestions(self) -> SafeString:
        return build_suggestions(self.list_id, self.rows, suggest(self.known, self.label_column))

    @property
    def shown_name(self) -> str:
        """What the field shows: what was typed, or the name of the row that a link named."""
        if self.typed_name or not self.typed:
            return self.typed_name
        if not is_id(self.typed):
            return self.typed
        rows = self.known.filter(pk=int(self.typed))
        return str(rows.values_list(self.label_column, flat=True).first() or self.typed)

    @property
    def exported(self) -> dict[str, str]:
        return {str(self.parameter_name): self.shown_name} if self.shown_name else {}

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name, self.name_parameter]

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.typed_name:
            return self._filter_by_name(queryset, self.typed_name)
        if not self.typed:
            return queryset
        if is_id(self.typed):
            return queryset.filter(**{self.column: int(self.typed)})
        return self._filter_by_name(queryset, self.typed)

    def _filter_by_name(self, queryset: QuerySet[Any], name: str) -> QuerySet[Any]:
        # Read first: which index helps depends on which row it is.
        named = list(self.known.filter(**{self.label_column: name}).values_list("pk", flat=True))
        return queryset.filter(**{f"{self.column}__in": named})


class ConsentFilter(ChoiceFilter):
    """Those that wait for a consent that whoever looks may give."""

    title = "waiting for"
    parameter_name = "waits_for_my_consent"
    column = ""
    choices_shown = (("true", "My consent"),)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return select_awaiting_consent(actor_of(request), queryset) if self.typed == "true" else queryset


def build_text_filter(
    title: str, parameter: str, narrow: Callable[[str], Q], *, hint: str = ""
) -> type[TextFilter]:
    """A filter class that one types into; `narrow` makes a condition of the text."""
    values = {"title": title, "parameter_name": parameter, "narrow": staticmethod(narrow), "hint": hint}
    return type(f"{parameter.title()}Filter", (TextFilter,), values)


def build_search_filter(search: Callable[..., QuerySet[Any]], hint: str) -> type[SearchFilter]:
    """A filter class that searches with one of the functions of `queries.search`; `hint` says where."""
    return type("QFilter", (SearchFilter,), {"search": staticmethod(search), "hint": hint})


def build_choice_filter(
    title: str,
    parameter: str,
    choices: Iterable[tuple[Any, Any]],
    *,
    column: str = "",
    takes_several: bool = False,
) -> type[ChoiceFilter]:
    """A filter class over fixed choices of `column` (by default the column named as the parameter)."""
    values = {
        "title": title,
        "parameter_name": parameter,
        "column": column or parameter,
        "choices_shown": tuple(choices),
        "takes_several": takes_several,
    }
    return type(f"{parameter.title()}Filter", (ChoiceFilter,), values)


def build_row_filter(
    title: str, parameter: str, rows: type[Model], *, column: str = "", label_column: str = ""
) -> type[RowFilter]:
    """A filter class over the rows of another table."""
    values = {
        "title": title,
        "parameter_name": parameter,
        "column": column or f"{parameter}_id",
        "rows": rows,
        "label_column": label_column or NAME_OF[rows],
    }
    return type(f"{parameter.title()}Filter", (RowFilter,), values)
