"""A long body is compared with what we would write slice by slice; where slices begin does not show."""

import pytest

from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_records, encode_endpoints

_LENGTHS = (1, 2, 999, 1_000, 1_001, 1_999, 2_000, 2_001)


def _make_endpoints(count: int) -> list[Endpoint]:
    return [Endpoint(f"app-{n}.example.org", ("192.0.2.1",), "A", record_ttl=300) for n in range(count)]


@pytest.mark.parametrize("count", _LENGTHS)
def test_every_endpoint_of_a_long_body_is_read(count: int) -> None:
    endpoints = _make_endpoints(count)

    decoded = decode_records(encode_endpoints(endpoints), max_items=count)

    assert (decoded.endpoints, decoded.set_aside) == (endpoints, [])


@pytest.mark.parametrize("count", _LENGTHS)
@pytest.mark.parametrize("place", [0, 998, 999, 1_000, 1_001, -1])
def test_a_second_key_is_seen_in_every_slice(count: int, place: int) -> None:
    endpoints = _make_endpoints(count)
    changed = endpoints[place % count]
    body = encode_endpoints(endpoints).replace(
        f'{{"dnsName":"{changed.dns_name}"'.encode(),
        f'{{"DNSNAME":"other.example.org","dnsName":"x","dnsname":"{changed.dns_name}"'.encode(),
    )

    decoded = decode_records(body, max_items=count)

    assert decoded.endpoints == endpoints


@pytest.mark.parametrize("count", [1_000, 2_001])
@pytest.mark.parametrize("place", [0, 999, -1])
def test_a_record_that_is_too_large_is_set_aside_in_every_slice(count: int, place: int) -> None:
    endpoints = _make_endpoints(count)
    place %= count
    endpoints[place] = Endpoint("large.example.org", ("x" * 70_000,), "TXT")

    decoded = decode_records(encode_endpoints(endpoints), max_items=count)

    assert [item.index for item in decoded.set_aside] == [place]
    assert decoded.endpoints == endpoints[:place] + endpoints[place + 1 :]
