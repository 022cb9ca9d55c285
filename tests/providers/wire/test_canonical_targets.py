from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.canonical_name import canonical_target, canonical_targets
from providers.wire.endpoint import Endpoint
from tests.providers.wire.wire_values import endpoints


@pytest.mark.parametrize(
    ("record_type", "one", "other"),
    [
        ("CNAME", "LB.example.org.", "lb.example.org"),
        ("AAAA", "2001:DB8::1", "2001:db8:0:0:0:0:0:1"),
        ("aaaa", "2001:db8::", "2001:0db8:0000:0000:0000:0000:0000:0000"),
        ("MX", "10 Mail.example.org.", "10 mail.example.org"),
        ("TXT", '"v=spf1 -all"', "v=spf1 -all"),
        ("TXT", '"Heritage"', "heritage"),
        ("A", "192.0.2.1", "192.0.2.1"),
        ("NS", "ns1.example.org.", "NS1.EXAMPLE.ORG"),
    ],
)
def test_external_dns_sees_no_difference_between(record_type: str, one: str, other: str) -> None:
    assert canonical_target(record_type, one) == canonical_target(record_type, other)


@pytest.mark.parametrize(
    ("record_type", "one", "other"),
    [
        ("TXT", "ends with a dot.", "ends with a dot"),
        ("TXT", '""quoted""', "quoted"),
        ("TXT", '"', ""),
        ("SRV", "0 0 443 .", "0 0 443 "),
        ("AAAA", "2001:db8::1", "2001:db8::2"),
        ("A", "192.0.2.1", "192.0.2.10"),
    ],
)
def test_external_dns_sees_a_difference_between(record_type: str, one: str, other: str) -> None:
    assert canonical_target(record_type, one) != canonical_target(record_type, other)


def test_targets_are_a_set_in_a_fixed_order() -> None:
    one = Endpoint(record_type="A", targets=("192.0.2.2", "192.0.2.1", "192.0.2.2"))
    other = Endpoint(record_type="A", targets=("192.0.2.1", "192.0.2.2"))

    assert canonical_targets(one) == canonical_targets(other) == ("192.0.2.1", "192.0.2.2")


@given(endpoints, st.randoms(use_true_random=False))
def test_the_order_of_targets_never_matters(endpoint: Endpoint, random: Random) -> None:
    shuffled = list(endpoint.targets)
    random.shuffle(shuffled)

    assert canonical_targets(endpoint) == canonical_targets(
        Endpoint(record_type=endpoint.record_type, targets=tuple(shuffled))
    )
