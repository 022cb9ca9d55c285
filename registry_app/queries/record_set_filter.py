"""Record sets by what is known of them: one filter for the interfaces that list them."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from registry_app.models import Owner, Provider, RecordSet
from registry_app.queries.name_range import build_suffix_query


@dataclass(frozen=True)
class RecordSetFilter:
    """What is left empty does not narrow. `name` and `name_suffix` are canonical."""

    owner: Owner | None = None
    provider: Provider | None = None
    types: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    name: str = ""
    name_suffix: str = ""
    updated_since: datetime | None = None
    is_missing: bool | None = None


def filter_record_sets(wanted: RecordSetFilter) -> QuerySet[RecordSet]:
    """The record sets that fit, in no order yet."""
    rows = RecordSet.objects.all()
    if wanted.owner is not None:
        rows = rows.filter(owner=wanted.owner)
    if wanted.provider is not None:
        rows = rows.filter(provider=wanted.provider)
    if wanted.types:
        rows = rows.filter(record_type__in=wanted.types)
    if wanted.states:
        rows = rows.filter(state__in=wanted.states)
    if wanted.name:
        rows = rows.filter(name=wanted.name)
    if wanted.name_suffix:
        rows = rows.filter(build_suffix_query(wanted.name_suffix))
    if wanted.updated_since is not None:
        rows = rows.filter(changed_at__gte=wanted.updated_since)
    if wanted.is_missing is not None:
        rows = rows.filter(missing_since__isnull=not wanted.is_missing)
    return rows
