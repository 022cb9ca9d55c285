"""Claims that stand beside DNS, in a registry store: one row for each record set somebody owns."""

import msgspec

from providers.wire.endpoint import Endpoint, EndpointKey


class StoredClaim(msgspec.Struct, frozen=True, gc=False):
    """One ownership statement of a registry store.

    `key` is the record set it speaks for, canonical. `text` is its labels as a heritage text without
    quotes, as `providers.registries.labels` reads and writes them: whatever a store's own layout is,
    this is what is compared, reviewed and shown. `problem` says why a row cannot be believed; then `text`
    is what could be read of it. `meant_targets` are there in an intent, a row that was written before its
    record set: it speaks for the record set only if that has just these targets.
    """

    key: EndpointKey
    text: str
    problem: str = ""
    meant_targets: tuple[str, ...] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it can be believed, and is no mere intent."""
        return not self.problem and self.meant_targets is None


class StoredClaimChange(msgspec.Struct, frozen=True, gc=False):
    """One row from `old` to `new`, both heritage texts; None: no row. Never None at both ends.

    `record` is the record set as its provider shows it, for stores that keep its targets beside the claim.
    `is_intent`: the record set is about to be created as `record` has it, and the row is written before. A
    store that tells intents apart keeps it as one until a change from `new` to `new` says that it came true;
    for any other store both are what they look like, a row and no change. `heir` is who owns the record set
    after a row goes, where that is known: by a claim in another registry, of which a store knows nothing.
    """

    record: Endpoint
    old: str | None
    new: str | None
    is_intent: bool = False
    heir: str = ""
