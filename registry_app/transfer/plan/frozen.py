"""Which freezes stop a transfer: those of its provider, and those of any of its record sets."""

from collections.abc import Iterable, Iterator

from providers.registries.labels import OWNER, parse_labels
from registry_app.models import Owner, Transfer, TransferItem
from registry_app.queries.freeze import SendStop, Side, find_item_stops
from registry_app.transfer.plan.claim_key import EndpointDict
from registry_app.transfer.plan.item_row import ItemRow
from registry_app.transfer.plan.provider_plan import PlannedItem

_OVER = ("verified", "failed", "stale")
_COLUMNS = ("name", "owner_before", "after")


def find_transfer_stops(transfer: Transfer, items: Iterable[ItemRow] | None = None) -> list[SendStop]:
    """Why it may not be sent at this moment. `items`: those to send now; without it, all that are left."""
    target = transfer.target_owner

    def list_sides() -> Iterator[Side]:
        left: Iterable[ItemRow | TransferItem] | None = items
        if left is None:
            rows = transfer.items.exclude(status__in=_OVER).order_by().only(*_COLUMNS)
            left = rows.iterator(chunk_size=2_000)
        return (_build_side(each.name, each.owner_before, target, each.after) for each in left)

    return find_item_stops(transfer.provider, list_sides)


def list_planned_sides(items: Iterable[PlannedItem], target: Owner | None) -> Iterator[Side]:
    """The names of a plan, and the owners that lose or get them."""
    included = (each for each in items if not each.problem)
    return (_build_side(each.name, each.source_owner_id, target, each.after) for each in included)


def _build_side(name: str, owners: str, target: Owner | None, after: Iterable[EndpointDict]) -> Side:
    # An undo may give names back to several owners: only its claims say to which.
    texts = (str(text) for claim in after for text in claim.get("targets") or ())
    found = {labels.get(OWNER, "") for text in texts if (labels := parse_labels(text)) is not None}
    return name, {*owners.split(","), *found, target.owner_id if target else ""} - {""}
