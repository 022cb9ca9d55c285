"""Comparing what stands at a place with what was reviewed. Pure."""

from collections.abc import Iterable, Mapping

from providers.wire.endpoint import Endpoint
from registry_app.transfer.plan.claim_key import ClaimKey, EndpointDict, describe_place


class Moved(Exception):
    """What stands at a place is neither what was reviewed nor what is wanted."""


def is_as_reviewed(live: Endpoint | None, reviewed: EndpointDict | None) -> bool:
    """Whether a place holds what was reviewed: the same targets, byte for byte, in any order."""
    if live is None or reviewed is None:
        return live is None and reviewed is None
    return sorted(live.targets) == sorted(reviewed["targets"])


def describe_moved(
    key: ClaimKey, live: Endpoint | None, reviewed: EndpointDict | None, stores: Mapping[str, str]
) -> str:
    """What stands at a place instead of what was reviewed. `stores` are the names of registry stores."""
    place = describe_place(key, stores)
    sentence = f"{place[0].upper()}{place[1:]}"
    if live is None:
        return f"{sentence} is gone."
    if reviewed is None:
        return f"{sentence} is where a new claim was to be written."
    return f"{sentence} holds {_quote(live.targets)}, not what was reviewed."


def _quote(targets: Iterable[str]) -> str:
    return ", ".join(target[:300] for target in targets)
