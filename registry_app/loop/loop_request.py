"""What one run of a loop is asked to do."""

from collections.abc import Iterable
from dataclasses import dataclass

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES, Policy
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint
from registry_app.actor import Actor
from registry_app.errors import InvalidRequest
from registry_app.models import Loop, Owner, Provider


@dataclass(frozen=True)
class LoopRequest:
    """Who wants what, where. `source` says in words where `desired` comes from; `confirmation` is the text a
    person typed, if a plan asked for one. `on_behalf_of` is who asked, whose rights every changed name needs;
    None: the schedule, or the shell. Without `loop` nobody gave dnsadmin this owner for good."""

    owner: Owner
    provider: Provider
    desired: tuple[Endpoint, ...]
    source: str
    policy: Policy = Policy.SYNC
    managed_types: frozenset[str] = DEFAULT_MANAGED_TYPES
    loop: Loop | None = None
    confirmation: str = ""
    on_behalf_of: Actor | None = None


def parse_managed_types(texts: Iterable[str]) -> frozenset[str]:
    """Record types in any case. Raises InvalidRequest for one that ExternalDNS does not know, or none."""
    kinds = frozenset(text.strip().upper() for text in texts if text.strip())
    unknown = sorted(kinds - set(KNOWN_RECORD_TYPES))
    if unknown or not kinds:
        known = ", ".join(KNOWN_RECORD_TYPES)
        what = f"{', '.join(unknown)[:100]}: no such record type." if unknown else "No record type was named."
        raise InvalidRequest(what, fields={"managed_types": [f"Name one or more of {known}."]})
    return kinds
