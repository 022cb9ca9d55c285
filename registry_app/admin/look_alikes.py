"""Lists that mark the owner ids that nobody registered and that look like a registered one."""

from collections.abc import Iterable, Mapping
from typing import Any, Generic

from django.http import HttpRequest
from django.utils.safestring import SafeString

from registry_app.admin.list_page import ListPage
from registry_app.admin.site import Row
from registry_app.admin.wording import format_look_alike
from registry_app.models import Owner
from registry_app.queries.owner import find_look_alikes


class OwnerList(ListPage[Row], Generic[Row]):
    """A list whose rows name owners."""

    def owners_of(self, row: Row) -> Iterable[Owner | None]:
        """Whom a row names. They must be loaded with the row."""
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
