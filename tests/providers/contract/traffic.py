"""What ExternalDNS was recorded to send (`tests/traffic/*.jsonl`, one exchange a line), to be played to a
server of ours. What the recording server answered is not looked at: ours answers for itself."""

from typing import NamedTuple

import msgspec

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict
from tests.external_dns.recordings import Exchange, read_exchanges


class Recorded(NamedTuple):
    """One request, with what it asks for where it is a change set."""

    method: str
    path: str
    body: bytes
    made: tuple[Endpoint, ...]
    gone: tuple[Endpoint, ...]


def list_before(name: str) -> tuple[Endpoint, ...]:
    """What stood in the zone when a recording began."""
    first = next(each for each in _exchanges(name) if (each.method, each.path) == ("GET", "/records"))
    return msgspec.json.decode(first.response, type=tuple[Endpoint, ...])


def list_requests(name: str) -> list[Recorded]:
    """The requests of a recording, in their order; of `legacy-claim-only` up to its first change set: its
    server answered that with an error, and the instance repeated itself."""
    requests: list[Recorded] = []
    for each in _exchanges(name):
        body = each.request.encode()
        is_change_set = (each.method, each.path) == ("POST", "/records")
        changes = decode_change_set_strict(body, max_items=1_000) if is_change_set else ChangeSet()
        made = (*changes.create, *changes.update_new)
        requests.append(Recorded(each.method, each.path, body, made, changes.delete))
        if name == "legacy-claim-only" and is_change_set:
            break
    return requests


def _exchanges(name: str) -> list[Exchange]:
    """The exchanges, moved from `ex.test` to names of their own in the zone that the backends serve."""
    return read_exchanges(name, f"{name}.example.org")
