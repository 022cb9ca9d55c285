"""The stored items of a transfer, without the model: a transfer may have a hundred thousand."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import starmap

from django.db.models import QuerySet

from registry_app.models import TransferItem
from registry_app.reconcile.rows.bulk import read_json, select_json
from registry_app.transfer.plan.claim_key import EndpointDict

_CHUNK = 2_000


@dataclass(slots=True)
class ItemRow:
    """The fields of a TransferItem that a run looks at; to make one takes a quarter of the time. `status` and
    `status_reason` follow what the run stores.
    """

    pk: int
    batch: int
    name: str
    record_type: str
    set_identifier: str
    record_before: EndpointDict | None
    before: list[EndpointDict]
    after: list[EndpointDict]
    owner_before: str
    verdict: str
    status: str
    status_reason: str


_JSON = ("record_before", "before", "after")
_COLUMNS = tuple(select_json(each.name) if each.name in _JSON else each.name for each in fields(ItemRow))


def iterate_items(items: "QuerySet[TransferItem]") -> Iterator[ItemRow]:
    """Database read. The items in their order."""
    rows = items.order_by("ordinal").values_list(*_COLUMNS)
    for row in starmap(ItemRow, rows.iterator(chunk_size=_CHUNK)):
        row.record_before = read_json(row.record_before)
        row.before, row.after = read_json(row.before), read_json(row.after)
        yield row
