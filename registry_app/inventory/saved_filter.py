"""Save, change, share and delete a filter of a list; choose the columns of a list."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import InvalidRequest, NotAllowed, NotFound
from registry_app.inventory.rows import change_row, create_row, delete_row, fetch_row
from registry_app.models import ChosenColumns, SavedFilter
from registry_app.queries.access import may_administer, may_read
from registry_app.queries.readable import readable
from registry_app.queries.saved_filter import LISTS

_LONGEST_TEXT = 255
_MOST_COLUMNS = 50
_LONGEST_COLUMN = 50


def save_filter(actor: Actor, values: Mapping[str, Any]) -> SavedFilter:
    """Store a filter of the actor's own. Raises NotAllowed, or InvalidRequest with the fields."""
    _raise_if_nobody(actor)
    _raise_if_invalid(actor, values, str(values.get("list_name", "")))
    return create_row(actor, SavedFilter, {**values, "user_id": actor.user_id}, action="savedfilter.saved")


def change_saved_filter(
    actor: Actor, row_id: int, changes: Mapping[str, Any], *, expected_updated_at: datetime | None = None
) -> SavedFilter:
    """Change a filter of one's own; its list stays. Raises NotAllowed, NotFound, StateMoved, or
    InvalidRequest with the fields."""
    _raise_if_nobody(actor)
    row = _fetch_visible(actor, row_id)
    if row.user_id != actor.user_id:
        raise _not_own(row)
    if changes.get("list_name", row.list_name) != row.list_name:
        raise InvalidRequest(
            "A saved filter stays with its list.", fields={"list_name": ["Save a new one for another list."]}
        )
    _raise_if_invalid(actor, changes, row.list_name)
    return change_row(
        actor,
        SavedFilter,
        row_id,
        changes,
        action="savedfilter.changed",
        expected_updated_at=expected_updated_at,
    )


def delete_saved_filter(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a filter of one's own; administrators, of anybody. Raises NotAllowed, NotFound or StateMoved."""
    _raise_if_nobody(actor)
    row = _fetch_visible(actor, row_id)
    if row.user_id != actor.user_id and not may_administer(actor):
        raise _not_own(row)
    delete_row(
        actor,
        SavedFilter,
        row_id,
        action="savedfilter.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=lambda _row: [],
        end=SavedFilter.delete,
    )


def choose_columns(actor: Actor, list_name: str, columns: Sequence[str]) -> None:
    """Show these columns of a list to the actor from now on; none: as it is by default. Raises NotAllowed, or
    InvalidRequest."""
    _raise_if_nobody(actor)
    if len(columns) > _MOST_COLUMNS or any(len(each) > _LONGEST_COLUMN or "\0" in each for each in columns):
        raise InvalidRequest("These columns cannot be chosen.", fields={"columns": ["Choose those shown."]})
    with transaction.atomic():
        rows = ChosenColumns.objects.filter(user=actor.user_id or 0, list_name=list_name)
        before = rows.values_list("columns", flat=True).first()
        if list(columns) == (before or []):
            return
        if columns:
            ChosenColumns.objects.update_or_create(
                user_id=actor.user_id or 0, list_name=list_name, defaults={"columns": list(columns)}
            )
        else:
            rows.delete()
        record_audit(
            actor,
            "columns.chosen",
            ChosenColumns,
            before={"list": list_name, "columns": before},
            after={"list": list_name, "columns": list(columns) or None},
        )


def _raise_if_nobody(actor: Actor) -> None:
    if actor.user_id is None or not (may_read(actor) or actor.has_scope("plan")):
        raise NotAllowed("Only a person who may read has settings of lists.", todo="Sign in as that person.")


def _fetch_visible(actor: Actor, row_id: int) -> SavedFilter:
    """The row; what the actor may not see does not exist. Its user sees it with any token."""
    row = fetch_row(SavedFilter, row_id)
    rows = SavedFilter.objects.filter(pk=row_id)
    if row.user_id != actor.user_id and not readable(actor, rows).exists():
        raise NotFound(f"There is no saved filter {row_id}.", todo="Look it up in the list.")
    return row


def _not_own(row: SavedFilter) -> NotAllowed:
    return NotAllowed(
        f"{row} is a filter of {row.user.get_username()}, who alone can change it.",
        todo="Save one of your own.",
    )


def _raise_if_invalid(actor: Actor, values: Mapping[str, Any], list_name: str) -> None:
    """Raise InvalidRequest for a list, filters or a group that cannot be."""
    fields: dict[str, list[str]] = {}
    known = LISTS.get(list_name)
    if known is None:
        fields["list_name"] = [f"Choose among {', '.join(LISTS)}."]
    elif "filters" in values and (problem := _find_problem(values["filters"], known.filters)):
        fields["filters"] = [problem]
    if "name" in values and not str(values["name"]).strip():
        fields["name"] = ["Give it a name."]
    group = values.get("group")
    if isinstance(group, Group) and not _may_share(actor, group):
        fields["group"] = ["Choose a group that you are in."]
    if fields:
        raise InvalidRequest("The filter cannot be saved.", fields=fields)


def _may_share(actor: Actor, group: Group) -> bool:
    return may_administer(actor) or group.user_set.filter(pk=actor.user_id or 0).exists()


def _find_problem(filters: object, known: Sequence[str]) -> str:
    if not isinstance(filters, Mapping) or not filters:
        return f"Give one or more of {', '.join(known)}."
    if unknown := sorted(set(map(str, filters)) - set(known)):
        return f"This list has no filter {', '.join(unknown)}; it has {', '.join(known)}."
    for name, text in filters.items():
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_TEXT or "\0" in text:
            return f"{name} is a text of 1 to {_LONGEST_TEXT} characters."
    return ""
