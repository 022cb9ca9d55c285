"""An endpoint on its way through one loop, which ExternalDNS changes in place: targets are sorted where they
are compared, and a nonce joins the labels where a claim is rendered. All of that is seen on the wire."""

import ipaddress
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Self

from providers.registries.labels import OWNER
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty


@dataclass
class Record:
    """One endpoint, of the provider or of a source."""

    dns_name: str
    record_type: str
    targets: list[str]
    set_identifier: str = ""
    record_ttl: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    properties: list[ProviderSpecificProperty] = field(default_factory=list)

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        """A copy of the endpoint that may be changed."""
        return cls(
            endpoint.dns_name,
            endpoint.record_type,
            list(endpoint.targets),
            endpoint.set_identifier,
            endpoint.record_ttl,
            dict(endpoint.labels),
            list(endpoint.provider_specific),
        )

    def to_endpoint(self) -> Endpoint:
        """As it is now, its labels in the order in which Go writes them."""
        return Endpoint(
            self.dns_name,
            tuple(self.targets),
            self.record_type,
            self.set_identifier,
            self.record_ttl,
            dict(sorted(self.labels.items())),
            tuple(self.properties),
        )

    @property
    def key(self) -> tuple[str, str, str]:
        """Letter by letter, as ExternalDNS compares record sets with each other."""
        return self.dns_name, self.record_type, self.set_identifier

    def is_owned_by(self, owner_id: str) -> bool:
        return self.labels.get(OWNER) == owner_id

    def set_property(self, name: str, value: str) -> None:
        """Set the first property of this name, or add it."""
        names = [each.name for each in self.properties]
        place = names.index(name) if name in names else len(names)
        self.properties[place : place + 1] = [ProviderSpecificProperty(name, value)]

    @property
    def is_alias(self) -> bool:
        values = [each.value for each in self.properties if each.name == "alias"]
        return self.record_type == "A" and values[:1] in (["true"], ["A"])


def sort_targets(targets: list[str]) -> None:
    """In place, addresses in the spelling that Go gives them."""
    targets.sort(key=cmp_to_key(_compare_for_sorting))


def are_same_targets(one: list[str], other: list[str]) -> bool:
    """ExternalDNS's comparison, which sorts both lists. It stops at the first pair of addresses that differ
    in their spelling: what comes after such a pair is not looked at."""
    if len(one) != len(other):
        return False
    sort_targets(one)
    sort_targets(other)
    for mine, others in zip(one, other, strict=True):
        if mine.lower() != others.lower():
            address = _read_address(mine)
            return address is not None and address == _read_address(others)
    return True


def compare_targets(one: list[str], other: list[str]) -> int:
    """Which list ExternalDNS prefers: the shorter one, then addresses before names."""
    if len(one) != len(other):
        return len(one) - len(other)
    sort_targets(one)
    sort_targets(other)
    for mine, others in zip(one, other, strict=True):
        if mine != others:
            return -1 if _is_before(mine, others) else 1
    return 0


def _is_before(one: str, other: str) -> bool:
    first, second = _read_address(one), _read_address(other)
    if first is not None and second is not None:
        return (first.version, int(first)) < (second.version, int(second))
    if (first is None) != (second is None):
        return first is not None
    return one < other


def _compare_for_sorting(one: str, other: str) -> int:
    first, second = _read_address(one), _read_address(other)
    left, right = (one, other) if first is None or second is None else (str(first), str(second))
    return (left > right) - (left < right)


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
