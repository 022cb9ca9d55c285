"""Endpoints by identity: all that a provider lists for one record set, as one."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey

# Any three texts in the order of an EndpointKey, to look one up.
Key = tuple[str, str, str]


class Record(msgspec.Struct, gc=False):
    """A record set before its claims are known, or a TXT record set with claims.

    `endpoint` is all of it, `place` where its first endpoint is in the provider's response. `parts` are
    there where the provider lists several endpoints for it: each as a record of its own, in that order.
    """

    key: EndpointKey
    endpoint: Endpoint
    place: int
    parts: tuple["Record", ...] = ()

    @property
    def listed(self) -> tuple["Record", ...]:
        """Each endpoint that the provider lists for it: one, as a rule."""
        return self.parts or (self,)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints where there are several; empty for all others."""
        return tuple(part.endpoint for part in self.parts) if self.parts else ()


class Gathered(NamedTuple):
    """Record sets by identity, TXT apart from all others, and endpoints whose name cannot be read."""

    records: dict[Key, Record]
    texts: dict[Key, Record]
    unnamed: list[Endpoint]


def gather(endpoints: Iterable[Endpoint]) -> Gathered:
    """Each identity once, in the order they came. Nearly all have one endpoint; only others cost more."""
    gathered = Gathered({}, {}, [])
    several: dict[Key, list[Record]] = {}
    for place, endpoint in enumerate(endpoints):
        try:
            key = endpoint_key(endpoint)
        except InvalidName:
            gathered.unnamed.append(endpoint)
            continue
        record = Record(key, endpoint, place)
        first = (gathered.texts if key.record_type == "TXT" else gathered.records).setdefault(key, record)
        if first is not record:
            several.setdefault(key, [first]).append(record)
    for parts in several.values():
        merged = _merge(parts)
        (gathered.texts if merged.key.record_type == "TXT" else gathered.records)[merged.key] = merged
    return gathered


def _merge(parts: list[Record]) -> Record:
    first = parts[0]
    return Record(first.key, merge_parts([part.endpoint for part in parts]), first.place, tuple(parts))
