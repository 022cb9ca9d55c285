"""The rows of a change set: stored with its step, and settled by what was read back of it.

The items of a step that create or delete a record set say what becomes of its row: {"profile": the registry
profile, "text": the claim, "back": what was there before, where that was a claim}.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.database_claims import RowChange, change_rows
from registry_app.guard.kept_zone import Split

Item = dict[str, Any]
_CREATE, _DELETE = "create", "delete"


def describe_row(key: EndpointKey, split: Split, profile_id: int, back: str | None) -> Item:
    """What an item of a step says of its row; empty where nothing is left to be settled."""
    change = split.later.get(key) or split.now.get(key)
    if change is None or (change.new is not None and change.meant_targets is None):
        return {}
    text = change.old if change.new is None else change.new
    return {"row": {"profile": profile_id, "text": text, "back": back}}


def settle_rows(
    items: Iterable[Item], find: Callable[[EndpointKey], Endpoint | None], *, is_answered: bool
) -> None:
    """Make claims of the intents whose record sets are there, and remove the rows of those that are gone. In
    the caller's transaction.

    A record set that is there with other values than were sent is the instance's if the provider said that
    it made it (`is_answered`). What is not there keeps its intent: if it arrives late, it has its owner.
    """

    def find_changes(item: Item, key: EndpointKey, text: str) -> Iterable[RowChange]:
        live = find(key)
        if item["action"] == _DELETE and live is None:
            yield RowChange(key, text, None)
        is_made = item["outcome"] == "verified" or is_answered
        if item["action"] == _CREATE and live is not None and is_made:
            yield RowChange(key, text, text)

    _change(items, find_changes)


def withdraw_rows(items: Iterable[Item]) -> None:
    """Nothing was sent: the intents go, and what they replaced comes back. In the caller's transaction."""

    def find_changes(item: Item, key: EndpointKey, text: str) -> Iterable[RowChange]:
        if item["action"] == _CREATE:
            yield RowChange(key, text, item["row"]["back"])

    _change(items, find_changes)


def _change(
    items: Iterable[Item], find_changes: Callable[[Item, EndpointKey, str], Iterable[RowChange]]
) -> None:
    found: Mapping[int, list[RowChange]] = defaultdict(list)
    for item in items:
        row = item.get("row")
        if row:
            key = EndpointKey(item["name"], item["record_type"], item["set_identifier"])
            found[row["profile"]].extend(find_changes(item, key, row["text"]))
    for profile_id, changes in found.items():
        # A row that somebody gave another owner since is that owner's.
        change_rows(profile_id, changes, passes_over_moved=True)
