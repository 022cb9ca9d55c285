"""Which ConfigMaps are an owner's registry: `<owner id>-storage`, and its further shards `...-storage-1`."""

import re
from typing import NamedTuple

from providers.registries.errors import RegistryError
from providers.wire.poison import safe_text

MAX_SHARDS = 256
# What a Kubernetes API takes for the name of a ConfigMap, a DNS-1123 subdomain.
_MAX_MAP_NAME_LENGTH = 253
_LABEL = r"[a-z0-9](?:[-a-z0-9]*+(?<=[a-z0-9]))?+"
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+").fullmatch
_MAP_NAME = re.compile(r"(.+)-storage(?:-([1-9][0-9]{0,2}))?", re.DOTALL).fullmatch


class UnstorableOwner(RegistryError):
    """An owner id that no ConfigMap can be named after."""


class MapName(NamedTuple):
    """Whose registry a ConfigMap belongs to, and which shard of it that is; 0 is the first."""

    owner_id: str
    shard: int


def format_map_name(owner_id: str) -> str:
    """The first ConfigMap of this owner's registry. Raises UnstorableOwner, which names the owner."""
    if not _is_storable(owner_id):
        raise UnstorableOwner(
            f"The owner id {safe_text(owner_id)!r} cannot be kept in a ConfigMap registry: its ConfigMap "
            f"would be named after it, and such a name takes lower-case letters, digits, `-` and `.` only, "
            f"{_MAX_MAP_NAME_LENGTH} characters at most. Nothing was written."
        )
    return f"{owner_id}-storage"


def parse_map_name(name: str) -> MapName | None:
    """Whose registry a ConfigMap of this name would be; None if it is no name of ours."""
    match = _MAP_NAME(name)
    if match is None or not _is_storable(match[1]):
        return None
    return MapName(match[1], int(match[2] or 0))


def _is_storable(owner_id: str) -> bool:
    """Whether there is room in the name of a ConfigMap for the owner id and the number of a shard."""
    longest = f"{owner_id}-storage-{MAX_SHARDS}"
    return len(longest) <= _MAX_MAP_NAME_LENGTH and _SUBDOMAIN(longest) is not None
