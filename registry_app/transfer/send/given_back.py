"""Whether a claim that a clean-up removed may come back. Pure.

It decided nothing when it was removed. Where a record set came since, or was given away, it would decide
now: make somebody the owner of what nobody gave them, or dispute what is another's.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from providers.wire.endpoint import EndpointKey


class Cleaned(Protocol):
    """What is known of an item of the clean-up: the record set its claims spoke for, of any type but AAAA
    where `record_type` is empty."""

    @property
    def name(self) -> str: ...
    @property
    def record_type(self) -> str: ...
    @property
    def set_identifier(self) -> str: ...


class Standing(NamedTuple):
    """A record set at the name of an item; `owner_id` is empty unless it is owned."""

    key: EndpointKey
    owner_id: str
    is_alias: bool


def find_objection(
    item: Cleaned, owner_ids: str, places: Collection[str], standing: Iterable[Standing]
) -> str:
    """Why the claims of `owner_ids` may not come back to the names in `places`; empty if they may.

    `standing` are all record sets at the item's name.
    """
    for record in standing:
        is_itself = record.key.record_type == "TXT" and record.key.name in places
        if is_itself or not _speaks(item, record) or (record.owner_id and record.owner_id == owner_ids):
            continue
        what = f"{record.key.name} {record.key.record_type}"
        if record.owner_id:
            return f"{what} belongs to {record.owner_id} now: a claim of {owner_ids} would be a conflict."
        return f"{what} is there now: the claim would make {owner_ids} its owner."
    return ""


def _speaks(item: Cleaned, record: Standing) -> bool:
    """As claims are paired with record sets."""
    if item.set_identifier != record.key.set_identifier:
        return False
    if not item.record_type:
        return record.key.record_type != "AAAA"
    is_cname_of_alias = item.record_type == "CNAME" and record.key.record_type == "A" and record.is_alias
    return item.record_type == record.key.record_type or is_cname_of_alias
