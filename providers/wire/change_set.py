"""What a provider is asked to do in one request.

Some providers list one endpoint for each target. ExternalDNS takes each of them on its own. So do we on the
wire: the parts are sent as they were read, and those that stay as they are go along as pairs without a
change, so that a stored change set states all that is to be at its names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey

# A part as it was read, and as it is to be; None: no such part.
PartChange = tuple[Endpoint | None, Endpoint | None]


class ChangeSet(
    msgspec.Struct, frozen=True, gc=False, rename={"update_old": "updateOld", "update_new": "updateNew"}
):
    """ExternalDNS's Changes. `update_old[i]` and `update_new[i]` are written in pairs of one identity;
    a reader pairs them by identity, never by position."""

    create: tuple[Endpoint, ...] = ()
    update_old: tuple[Endpoint, ...] = ()
    update_new: tuple[Endpoint, ...] = ()
    delete: tuple[Endpoint, ...] = ()

    def is_empty(self) -> bool:
        return not (self.create or self.update_old or self.update_new or self.delete)


def merge_parts(parts: Sequence[Endpoint]) -> Endpoint:
    """One endpoint with all targets of the parts, each once, in the order they came.

    All else is the first part's, in an order that does not depend on how the parts came: a provider that
    lists them in another order the next time says the same.
    """
    if len(parts) == 1:
        return parts[0]
    first = min(parts, key=format_all)
    targets = tuple(dict.fromkeys(target for part in parts for target in part.targets))
    return msgspec.structs.replace(first, targets=targets)


def merge_by_key(endpoints: Iterable[Endpoint]) -> dict[EndpointKey, Endpoint]:
    """The endpoints by identity, those of one identity as one. Raises InvalidName."""
    found: dict[EndpointKey, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        found[endpoint_key(endpoint)].append(endpoint)
    return {key: merge_parts(parts) for key, parts in found.items()}


def list_differences(parts: Sequence[Endpoint]) -> tuple[str, ...]:
    """In what the parts differ beside their targets, in words."""
    first = parts[0]
    found = {
        "TTL": any(part.record_ttl != first.record_ttl for part in parts),
        "labels": any(part.labels != first.labels for part in parts),
        "provider-specific properties": any(_properties(part) != _properties(first) for part in parts),
    }
    return tuple(name for name, differs in found.items() if differs)


def split_change(parts: Sequence[Endpoint], new: Endpoint | None) -> list[PartChange]:
    """What becomes of each part when all of them together are to be `new` (None: nothing), each part once.

    A target that is replaced stays in its part. A setting in which the parts differ stays as it is in each
    of them, unless `new` changes it.
    """
    old = merge_parts(parts)
    wanted = new.targets if new else ()
    come = [target for target in wanted if target not in old.targets]
    by_target = dict(zip((target for target in old.targets if target not in wanted), come, strict=False))
    changes: list[PartChange] = []
    for part in {format_all(part): part for part in parts}.values():
        mapped = [by_target.get(target, target) for target in part.targets]
        targets = tuple(target for target in mapped if target in wanted)
        changes.append((part, _turn(part, targets, old, new) if new and targets else None))
    if new:
        changes += [(None, _turn(parts[0], (each,), old, new)) for each in come[len(by_target) :]]
    return changes


def build_change_set(
    changes: Iterable[PartChange], parts: Mapping[EndpointKey, Sequence[Endpoint]]
) -> ChangeSet:
    """One change set of changes from what was read to what is to be. What the provider lists in `parts`, by
    identity, is changed part by part."""
    spread: list[PartChange] = []
    for old, new in changes:
        found = parts.get(endpoint_key(old)) if parts and old is not None else None
        spread += split_change(found, new) if found else [(old, new)]
    updates = [(old, new) for old, new in spread if old is not None and new is not None]
    return ChangeSet(
        create=tuple(new for old, new in spread if new is not None and old is None),
        update_old=tuple(old for old, _ in updates),
        update_new=tuple(new for _, new in updates),
        delete=tuple(old for old, new in spread if old is not None and new is None),
    )


def _turn(part: Endpoint, targets: tuple[str, ...], old: Endpoint, new: Endpoint) -> Endpoint:
    is_same_ttl, is_same_labels = new.record_ttl == old.record_ttl, new.labels == old.labels
    is_same_properties = new.provider_specific == old.provider_specific
    return msgspec.structs.replace(
        part,
        targets=targets,
        record_ttl=part.record_ttl if is_same_ttl else new.record_ttl,
        labels=part.labels if is_same_labels else new.labels,
        provider_specific=part.provider_specific if is_same_properties else new.provider_specific,
    )


def format_all(endpoint: Endpoint) -> str:
    """All that an endpoint holds as one text: two with the same text are the same."""
    fields = (
        endpoint.dns_name,
        endpoint.record_type,
        endpoint.targets,
        endpoint.record_ttl,
        sorted(endpoint.labels.items()),
        [(item.name, item.value) for item in endpoint.provider_specific],
    )
    return repr(fields)


def _properties(endpoint: Endpoint) -> set[tuple[str, str]]:
    return {(item.name, item.value) for item in endpoint.provider_specific}
