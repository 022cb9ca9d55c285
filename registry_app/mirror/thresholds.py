"""How much of what is known a response may lack, or show otherwise, before it is implausible. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """The limits of the plausibility rule.

    `missing_percent` of what is known may be missing, where at least `floor` is known: of fewer, only the
    loss of all is implausible. The owners of `owners_changed_percent` of the owned record sets may change,
    `set_aside_percent` of the items may be unreadable, and `new_owners` owner ids may appear that nobody
    knew: no company adds more instances between two syncs, and whoever may write TXT records can forge them.
    """

    floor: int = 10
    missing_percent: int = 30
    owners_changed_percent: int = 30
    set_aside_percent: int = 1
    new_owners: int = 500

    def is_too_few(self, shown: int, known: int) -> bool:
        """Whether `shown` of `known` is an implausible loss."""
        if known <= 0:
            return False
        return shown <= 0 or (known >= self.floor and shown * 100 < (100 - self.missing_percent) * known)
