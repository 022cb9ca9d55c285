"""Comparing what stands at a place with what was reviewed, and with what was sent. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from providers.wire.endpoint import Endpoint
from registry_app.transfer.claim_key import ClaimKey, describe_place
from registry_app.transfer.provider_plan import EndpointDict


@dataclass(frozen=True)
class Change:
    """The claims at one place from `old` to `new`, exactly as on the wire; None: nothing is there."""

    old: Endpoint | None
    new: Endpoint | None


class Moved(Exception):
    """What stands at a place is neither what was reviewed nor what is wanted."""


def is_as_reviewed(live: Endpoint | None, reviewed: EndpointDict | None) -> bool:
    """Whether a place holds what was reviewed: the same targets, byte for byte, in any order."""
    if live is None or reviewed is None:
        return live is None and reviewed is None
    return sorted(live.targets) == sorted(reviewed["targets"])


def is_as_written(live: Endpoint | None, wanted: Endpoint | None) -> bool:
    """Whether a place shows what was sent (I6).

    Providers may wrap text in quotes or not, choose the TTL where none was configured, and add
    properties of their own; nothing else may differ.
    """
    if live is None or wanted is None:
        return live is None and wanted is None
    return (
        sorted(map(_unquoted, live.targets)) == sorted(map(_unquoted, wanted.targets))
        and wanted.record_ttl in (0, live.record_ttl)
        and set(wanted.provider_specific) <= set(live.provider_specific)
    )


def describe_moved(
    key: ClaimKey, live: Endpoint | None, reviewed: EndpointDict | None, stores: Mapping[str, str]
) -> str:
    """What stands at a place instead of what was reviewed. `stores` are the names of registry stores."""
    place = describe_place(key, stores)
    sentence = f"{place[0].upper()}{place[1:]}"
    if live is None:
        return f"{sentence} is gone."
    if reviewed is None:
        return f"{sentence} stands where a new claim was to be written."
    return f"{sentence} holds {_quote(live.targets)}, not what was reviewed."


def _unquoted(target: str) -> str:
    return target[1:-1] if len(target) > 1 and target[0] == target[-1] == '"' else target


def _quote(targets: Iterable[str]) -> str:
    return ", ".join(target[:300] for target in targets)
