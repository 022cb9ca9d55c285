"""Selection: what a request is about, as ids, names, an owner, or filters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """Which record sets (for a clean-up: which claims). Every field given narrows the others.

    `record_set_ids` and `claim_ids` are explicit: each of them must be fit, or the request is refused.
    `names` are taken in any spelling. `states` are ownership states; for a clean-up, claim verdicts.
    """

    record_set_ids: tuple[int, ...] = ()
    claim_ids: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    owner_id: str = ""
    provider_id: int | None = None
    name_suffix: str = ""
    record_types: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def is_explicit(self) -> bool:
        """Whether each subject was named by its id: then none of them may be left out silently."""
        return bool(self.record_set_ids or self.claim_ids)

    @property
    def is_empty(self) -> bool:
        """Whether nothing bounds it: it would mean everything there is."""
        return not (self.record_set_ids or self.claim_ids or self.names or self.owner_id or self.name_suffix)
