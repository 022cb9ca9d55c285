"""Claims that stand beside DNS, in a registry store: one row for each record set somebody owns."""

import msgspec

from providers.wire.endpoint import Endpoint, EndpointKey


class StoredClaim(msgspec.Struct, frozen=True, gc=False):
    """One ownership statement of a registry store.

    `key` is the record set it speaks for, canonical. `text` is its labels as a heritage text without
    quotes, as `providers.registries.labels` reads and writes them: whatever a store's own layout is,
    this is what is compared, reviewed and shown. `problem` says why a row cannot be believed; then `text`
    is what could be read of it.
    """

    key: EndpointKey
    text: str
    problem: str = ""


class StoredClaimChange(msgspec.Struct, frozen=True, gc=False):
    """One row from `old` to `new`, both heritage texts; None: no row. Never None at both ends.

    `record` is the record set as its provider shows it, for stores that keep its targets beside the claim.
    """

    record: Endpoint
    old: str | None
    new: str | None
