"""Filters of lists: each is one field of a plain form, and one parameter of the URL."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.admin import ModelAdmin, SimpleListFilter
from django.db.models import Model, QuerySet
from django.http import HttpRequest


class ListFilter(SimpleListFilter):
    """A filter with a value of its own: shown even while there is nothing to choose."""

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
    def options(self) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in self.lookup_choices]


class TextFilter(ListFilter):
    """A filter one types into."""

    kind = "text"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return []


class ChoiceFilter(ListFilter):
    """A filter over fixed choices of one column."""

    column: ClassVar[str]
    choices_shown: ClassVar[Iterable[tuple[Any, Any]]] = ()

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in self.choices_shown]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = {value for value, _label in self.options}
        return queryset.filter(**{self.column: self.typed}) if self.typed in known else queryset


class RowFilter(ListFilter):
    """A filter over the rows of another table, by primary key. At most 500 are offered."""

    column: ClassVar[str]
    rows: ClassVar[type[Model]]
    label_column: ClassVar[str] = "name"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        rows = self.rows._default_manager.order_by(self.label_column)
        return [(str(pk), str(label)) for pk, label in rows.values_list("pk", self.label_column)[:500]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.typed:
            return queryset
        return queryset.filter(**{self.column: int(self.typed)}) if _is_id(self.typed) else queryset.none()


def build_choice_filter(
    title: str, parameter: str, choices: Iterable[tuple[Any, Any]], *, column: str = ""
) -> type[ChoiceFilter]:
    """A filter class over fixed choices of `column` (by default the column named as the parameter)."""
    values = {
        "title": title,
        "parameter_name": parameter,
        "column": column or parameter,
        "choices_shown": tuple(choices),
    }
    return type(f"{parameter.title()}Filter", (ChoiceFilter,), values)


def build_row_filter(
    title: str, parameter: str, rows: type[Model], *, column: str = "", label_column: str = "name"
) -> type[RowFilter]:
    """A filter class over the rows of another table."""
    values = {
        "title": title,
        "parameter_name": parameter,
        "column": column or f"{parameter}_id",
        "rows": rows,
        "label_column": label_column,
    }
    return type(f"{parameter.title()}Filter", (RowFilter,), values)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
