"""TXT: double quotes on the wire, strings of at most 255 bytes in a zone file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.backends.errors import ChangeImpossible
from providers.backends.txt_target import format_txt_target, parse_txt_target
from providers.backends.zone_value import build_endpoint, build_rdataset, parse_name
from tests.reference_server import make_record


@settings(deadline=None)
@given(st.binary(max_size=1000))
def test_every_content_survives_the_way_to_the_wire_and_back(content: bytes) -> None:
    target = format_txt_target(content)

    assert parse_txt_target(target) == content
    assert target.isprintable() or any(ord(each) > 127 for each in target)


@pytest.mark.parametrize(
    ("target", "content"),
    [
        ('"heritage=external-dns,external-dns/owner=a"', b"heritage=external-dns,external-dns/owner=a"),
        ("v=spf1 -all", b"v=spf1 -all"),
        (r"no quotes: \ stays", rb"no quotes: \ stays"),
        ('"two" "strings"', b"twostrings"),
        (r'"an inner \" quote"', b'an inner " quote'),
        (r'"bytes \195\164"', "bytes ä".encode()),
        ('"ä"', "ä".encode()),
        ('""', b""),
        ('"', b'"'),
    ],
)
def test_a_target_stands_for_its_content(target: str, content: bytes) -> None:
    assert parse_txt_target(target) == content


@pytest.mark.parametrize("target", ['"a"b"', '"open', r'"\999"', '"a" b', r'"half \"'])
def test_quotes_that_do_not_pair_up_are_refused(target: str) -> None:
    with pytest.raises(ChangeImpossible, match="cannot be written into a zone file"):
        build_rdataset(make_record(record_type="TXT", targets=(target,)), 300)


def test_a_long_target_is_split_into_strings_and_joined_again() -> None:
    target = f'"{"x" * 600}"'
    rdataset = build_rdataset(make_record(record_type="TXT", targets=(target,)), 300)

    read = build_endpoint(parse_name("www.example.org"), rdataset)

    assert [len(each) for each in rdataset[0].strings] == [255, 255, 90]
    assert read.targets == (target,)
