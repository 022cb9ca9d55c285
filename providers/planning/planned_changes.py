"""What a plan comes to: values only."""

from enum import StrEnum

import msgspec

from providers.registries.claim import PairedEndpoint
from providers.wire.endpoint import Endpoint, EndpointKey

DEFAULT_MANAGED_TYPES = frozenset({"A", "AAAA", "CNAME"})


class Policy(StrEnum):
    """ExternalDNS's --policy."""

    SYNC = "sync"  # creates, updates, and deletes what it owns and no longer wants
    UPSERT_ONLY = "upsert-only"  # never deletes
    CREATE_ONLY = "create-only"  # only creates


class Update(msgspec.Struct, frozen=True, gc=False):
    """One record set as it is, and as it is wanted."""

    current: PairedEndpoint
    wanted: Endpoint


class LeftAlone(msgspec.Struct, frozen=True, gc=False):
    """One record set, current or desired, that the plan does not touch; `reason` is one sentence. `is_meant`:
    the policy asks for just that."""

    key: EndpointKey
    reason: str
    is_meant: bool = False


class PlannedChanges(msgspec.Struct, frozen=True):
    """Changes of records, not yet of their claims, and what was left alone with the reason.

    Everything is in the order of its key, so that equal inputs in any order give equal plans.
    """

    creates: tuple[Endpoint, ...] = ()
    updates: tuple[Update, ...] = ()
    deletes: tuple[PairedEndpoint, ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()

    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.creates or self.updates or self.deletes)
