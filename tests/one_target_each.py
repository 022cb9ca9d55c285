"""A provider that lists, and takes, one endpoint for each target, as many DNS services store records."""

from collections.abc import Iterable, Sequence

import msgspec

from providers.backends.errors import ChangeRefused
from providers.backends.memory import MemoryBackend
from providers.wire.canonical_name import endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.reference_server import ReferenceProvider

_Place = tuple[EndpointKey, str]


class OneTargetEach(MemoryBackend):
    """Value-exact and atomic: each target of an `updateOld` or a delete must be an endpoint that it lists.
    An endpoint that is created with several targets is listed as several."""

    def __init__(self, endpoints: Iterable[Endpoint] = (), **_settings: object) -> None:
        super().__init__()
        self._parts = {_place_of(part): part for each in endpoints for part in _take_apart(each)}

    def records(self) -> Sequence[Endpoint]:
        return tuple(self._parts.values())

    def contents(self) -> Sequence[Endpoint]:
        return list(self._parts.values())

    def apply(self, change_set: ChangeSet) -> None:
        parts = dict(self._parts)
        for old in (*change_set.delete, *change_set.update_old):
            for part in _take_apart(old):
                if parts.pop(_place_of(part), None) != part:
                    raise ChangeRefused(f"{_place_of(part)} is not as the request says. Nothing was applied.")
        for new in (*change_set.update_new, *change_set.create):
            for part in _take_apart(new):
                if _place_of(part) in parts:
                    raise ChangeRefused(f"{_place_of(part)} already exists. Nothing was applied.")
                parts[_place_of(part)] = part
        self._parts = parts


class OneTargetEachProvider(ReferenceProvider):
    """The reference provider in front of it."""

    backend_type = OneTargetEach


def _take_apart(endpoint: Endpoint) -> list[Endpoint]:
    return [msgspec.structs.replace(endpoint, targets=(target,)) for target in endpoint.targets]


def _place_of(part: Endpoint) -> _Place:
    return endpoint_key(part), part.targets[0]
