"""The table of a list. The theme's takes 6 kB for each row; this one takes what the cells take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.utils import display_for_field, display_for_value, lookup_field
from django.contrib.admin.views.main import ChangeList
from django.db import models
from django.utils.text import capfirst

from registry_app.admin.wording import link_to

_CHECKBOX = "action_checkbox"


@dataclass(frozen=True)
class Cell:
    """What one column shows of one row."""

    label: str
    value: Any


@dataclass(frozen=True)
class Line:
    """One row. Its page is at `pk`, in digits, below the address of the list."""

    pk: str
    first: Cell
    cells: Sequence[Cell]


class Table:
    """The rows of a list as lines; with `can_select`, rows can be selected for an action."""

    def __init__(self, changes: ChangeList) -> None:
        self._changes = changes
        self._columns = [name for name in changes.list_display if name != _CHECKBOX]
        self.can_select = _CHECKBOX in changes.list_display
        headers = list(result_headers(changes))
        self.labels = [capfirst(str(header["text"])) for header in headers[self.can_select :]]

    def lines(self) -> Iterator[Line]:
        for row in self._changes.result_list:
            first, *cells = (
                Cell(label, self._show(name, row))
                for label, name in zip(self.labels, self._columns, strict=True)
            )
            yield Line(str(row.pk), first, cells)

    def _show(self, name: Any, row: models.Model) -> Any:
        page = self._changes.model_admin
        empty = page.get_empty_value_display()
        field, attribute, value = lookup_field(name, row, page)
        if field is None:
            return display_for_value(value, empty, getattr(attribute, "boolean", False))
        # Users have pages for administrators alone.
        if isinstance(value, models.Model) and value._meta.app_label == row._meta.app_label:
            return link_to(value)
        return display_for_field(value, field, empty)
