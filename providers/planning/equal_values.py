"""Whether a record set is as it is wanted: properties may be written otherwise and mean the same. Pure.

The plugin protocol lets the provider say so. Which values to ask about is found here, a client asks, and
what was answered comes back as a value: the plan itself asks nobody.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from providers.registries.claim import Pairing
from providers.wire.canonical_name import InvalidName, canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty, ValuePair

_Properties = Sequence[ProviderSpecificProperty]


class EqualValues(msgspec.Struct, frozen=True):
    """The pairs of differing values that mean the same to one provider."""

    pairs: frozenset[ValuePair] = frozenset()

    def are_same(self, current: _Properties, wanted: _Properties) -> bool:
        """Whether the current properties mean what is wanted."""
        return set(current) == set(wanted) or self.pairs.issuperset(list_differences(current, wanted))

    def are_shown(self, current: _Properties, wanted: _Properties) -> bool:
        """Whether all wanted properties are among the current ones, which may be more."""
        return set(wanted) <= set(current) or self.pairs.issuperset(list_not_shown(current, wanted))


AS_WRITTEN = EqualValues()


def list_differences(current: _Properties, wanted: _Properties) -> Iterator[ValuePair]:
    """The properties that are not the same text on both sides, as ExternalDNS compares them: one that is
    missing on a side has no text there."""
    values = {each.name: each.value for each in wanted}
    for each in current:
        if values.get(each.name) != each.value:
            yield ValuePair(each.name, each.value, values.get(each.name, ""))
    known = {each.name for each in current}
    for name, value in values.items():
        if name not in known:
            yield ValuePair(name, "", value)


def list_not_shown(current: _Properties, wanted: _Properties) -> Iterator[ValuePair]:
    """The same of the properties that are wanted; there may be more current ones."""
    names = {each.name for each in wanted}
    return list_differences([each for each in current if each.name in names], wanted)


def is_written_the_same(current: Endpoint, wanted: Endpoint) -> bool:
    """As `is_as_wanted`, for what is written the same: cheap, and never wrong when it says yes."""
    return (
        current.targets == wanted.targets
        and (not wanted.record_ttl or wanted.record_ttl == current.record_ttl)
        and current.provider_specific == wanted.provider_specific
    )


def is_as_wanted(current: Endpoint, wanted: Endpoint, equal: EqualValues = AS_WRITTEN) -> bool:
    """Whether ExternalDNS would leave it: the same targets, the TTL if one is wanted, the same properties."""
    if wanted.record_ttl and wanted.record_ttl != current.record_ttl:
        return False
    properties = current.provider_specific
    if properties != wanted.provider_specific and not equal.are_same(properties, wanted.provider_specific):
        return False
    return current.targets == wanted.targets or canonical_targets(current) == canonical_targets(wanted)


def list_questions(
    desired: Iterable[Endpoint], current: Pairing, managed_types: Collection[str]
) -> Iterator[ValuePair]:
    """The pairs of values that decide whether a record set is as it is wanted. Some come again."""
    endpoints: dict[tuple[str, str, str], Endpoint] = {
        record.key: record.endpoint for record in current.records if record.key.record_type in managed_types
    }
    for endpoint in desired:
        found = endpoints.get((endpoint.dns_name, endpoint.record_type, endpoint.set_identifier))
        if found is None:
            key = _key_of(endpoint)
            found = endpoints.get(key) if key is not None else None
        if found is None or found.provider_specific == endpoint.provider_specific:
            continue
        if endpoint.record_ttl in (0, found.record_ttl) and canonical_targets(found) == canonical_targets(
            endpoint
        ):
            yield from list_differences(found.provider_specific, endpoint.provider_specific)


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None
