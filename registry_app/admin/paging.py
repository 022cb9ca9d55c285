"""Pages over tables of any size: what is counted and skipped is bounded."""

from typing import ClassVar

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # a runtime class, not generic
    """Counts and pages through at most `most_counted` rows; beyond them the list asks for a filter.

    A count over a million rows costs more than the page it stands under, and nobody turns to page 20,000.
    """

    most_counted: ClassVar[int] = 10_000
    template_name = "dnsadmin/pagination.html"

    @cached_property
    def found(self) -> int:
        """How many rows there are; `most_counted` + 1 stands for more than that."""
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
