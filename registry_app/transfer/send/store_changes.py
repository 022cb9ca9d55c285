"""What one registry store is asked to change, as values, and as the text that is stored before it is sent."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import msgspec

from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.transfer.plan.claim_key import ClaimKey, build_row, build_row_key, endpoint_key_of
from registry_app.transfer.send.live_zone import LiveZone
from registry_app.writes.read_back import Change

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(tuple[StoredClaimChange, ...])


def encode_store_changes(changes: Mapping[ClaimKey, Change], zone: LiveZone, heir: str = "") -> bytes:
    """The body of a step for one store; `heir` is who owns the record sets afterwards whose rows go.

    A row that stays beside one that changes is in it too, from itself to itself: the body says all that
    stands at its places, before and after.
    """
    return _ENCODER.encode(
        [each for key, change in changes.items() for each in _split(key, change, zone, heir)]
    )


def decode_store_changes(body: bytes) -> tuple[StoredClaimChange, ...]:
    """Every row of a stored body, those that stay included."""
    return _DECODER.decode(body)


def list_changes_to_make(body: bytes) -> list[StoredClaimChange]:
    """What a store is asked to do."""
    return [each for each in decode_store_changes(body) if each.old != each.new]


def store_changes_in(body: bytes, store: str) -> dict[ClaimKey, Change]:
    """The changes of a stored body, by where they are made."""
    rows: dict[EndpointKey, tuple[list[str], list[str]]] = {}
    for each in decode_store_changes(body):
        olds, news = rows.setdefault(endpoint_key(each.record), ([], []))
        olds += [each.old] if each.old is not None else []
        news += [each.new] if each.new is not None else []
    return {
        (place := build_row_key(store, key)): Change(_row_of(place, olds), _row_of(place, news))
        for key, (olds, news) in rows.items()
    }


def _split(key: ClaimKey, change: Change, zone: LiveZone, heir: str) -> Iterator[StoredClaimChange]:
    record = zone.endpoints.get(endpoint_key_of(key), build_row(key, ()))
    olds = change.old.targets if change.old else ()
    news = change.new.targets if change.new else ()
    for text in olds:
        if text in news:
            yield StoredClaimChange(record, text, text)
    going = [text for text in olds if text not in news]
    coming = [text for text in news if text not in olds]
    for old, new in zip_longest(going, coming):
        yield StoredClaimChange(record, old, new, heir="" if new else heir)


def _row_of(key: ClaimKey, texts: list[str]) -> Endpoint | None:
    return build_row(key, texts) if texts else None
