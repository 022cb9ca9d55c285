import json

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    decode_records,
    encode_change_set,
    encode_endpoints,
)
from providers.wire.poison import find_poison
from tests.providers.wire.wire_values import change_sets, endpoint_lists


@settings(deadline=None)
@given(change_sets, st.booleans())
def test_a_change_set_is_read_back_as_it_was_written(change_set: ChangeSet, capitalized: bool) -> None:
    body = encode_change_set(change_set, capitalized_keys=capitalized)

    assert decode_change_set_strict(body, max_items=16) == change_set


@settings(deadline=None)
@given(change_sets)
def test_a_change_set_another_program_spaced_and_ordered_is_read_the_same(change_set: ChangeSet) -> None:
    body = json.dumps(json.loads(encode_change_set(change_set)), indent=1, sort_keys=True).encode()

    assert decode_change_set_strict(body, max_items=16) == change_set


@settings(deadline=None)
@given(endpoint_lists)
def test_endpoints_are_read_back_as_they_were_written(endpoints: tuple[Endpoint, ...]) -> None:
    body = encode_endpoints(endpoints)

    assert decode_endpoints_strict(body, max_items=4) == endpoints
    assert encode_endpoints(decode_endpoints_strict(body, max_items=4)) == body


@settings(deadline=None)
@given(endpoint_lists)
def test_the_mirror_reads_every_endpoint_or_sets_it_aside(endpoints: tuple[Endpoint, ...]) -> None:
    records = decode_records(encode_endpoints(endpoints), max_items=4)

    assert records.endpoints == [endpoint for endpoint in endpoints if find_poison(endpoint) is None]
    assert [aside.index for aside in records.set_aside] == [
        index for index, endpoint in enumerate(endpoints) if find_poison(endpoint)
    ]
