import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.domain_filter import DomainFilter, parse_domain_filter
from providers.wire.errors import InvalidDomainFilter, WireError, WrongType
from providers.wire.json_codec import encode_domain_filter
from tests.providers.wire.wire_values import texts

EVERYTHING = DomainFilter()
BELOW = DomainFilter(include=(".example.org",))
ZONE = DomainFilter(include=("Example.ORG.",))
ZONE_BUT = DomainFilter(include=("example.org",), exclude=("green.example.org",))
ALL_BUT = DomainFilter(exclude=(".green.example.org",))
PATTERN = DomainFilter(regex_include=r"blue.*\.example\.org$")
PATTERN_BUT = DomainFilter(regex_include=r"example\.org$", regex_exclude=r"^green\.")
SHARP = DomainFilter(include=("Straße.DE.", ".münchen.de"))
BUT_MUNICH = DomainFilter(exclude=("xn--mnchen-3ya.de",))
MUNICH = DomainFilter(regex_include=r"^(www\.)?münchen\.de$")
ONLY_NOT = DomainFilter(regex_exclude=r"^green\.")


@pytest.mark.parametrize(
    ("domain_filter", "name", "expected"),
    [
        (EVERYTHING, "www.example.org", True),
        (EVERYTHING, "", True),
        (BELOW, "www.example.org", True),
        (BELOW, "a.b.example.org.", True),
        (BELOW, "example.org", False),
        (BELOW, "notexample.org", False),
        (ZONE, "example.org", True),
        (ZONE, "EXAMPLE.org.", True),
        (ZONE, "www.example.org", True),
        (ZONE, "notexample.org", False),
        (ZONE, "org", False),
        (ZONE_BUT, "blue.example.org", True),
        (ZONE_BUT, "green.example.org", False),
        (ZONE_BUT, "www.green.example.org", False),
        (ALL_BUT, "green.example.org", True),
        (ALL_BUT, "www.green.example.org", False),
        (ALL_BUT, "example.net", True),
        (PATTERN, "www.blue-1.example.org", True),
        (PATTERN, "BLUE.EXAMPLE.ORG.", True),
        (PATTERN, "blue.example.org.evil.net", False),
        (PATTERN, "green.example.org", False),
        (PATTERN_BUT, "green.example.org", False),
        (PATTERN_BUT, "www.example.org", True),
        (PATTERN_BUT, "www.example.net", False),
        (SHARP, "straße.de", True),
        (SHARP, "www.STRASSE.de", True),
        (SHARP, "strasse.de.", True),
        (SHARP, "xn--strae-oqa.de", False),  # another name, which ExternalDNS does not take for it either
        (SHARP, "www.xn--mnchen-3ya.de", True),
        (SHARP, "WWW.MÜNCHEN.DE", True),
        (SHARP, "münchen.de", False),
        (BUT_MUNICH, "münchen.de", False),
        (BUT_MUNICH, "www.xn--mnchen-3ya.de", False),
        (BUT_MUNICH, "munchen.de", True),
        (MUNICH, "xn--mnchen-3ya.de", True),
        (MUNICH, "WWW.MÜNCHEN.de.", True),
        (MUNICH, "munchen.de", False),
        (MUNICH, "xn--999999999.de", False),
        (ONLY_NOT, "green.example.org", False),
        (ONLY_NOT, "anything.example.net", True),
    ],
)
def test_it_matches_as_external_dns_does(domain_filter: DomainFilter, name: str, expected: bool) -> None:
    assert domain_filter.matches(name) is expected


def test_only_a_filter_that_says_nothing_matches_everything() -> None:
    assert EVERYTHING.matches_everything
    assert DomainFilter(include=("", " ")).matches_everything
    assert not ALL_BUT.matches_everything
    assert not ONLY_NOT.matches_everything


@pytest.mark.parametrize(
    "body", [b"null", b"{}", b' { "include" : null } ', b'{"include":[],"unknown":[[]]}']
)
def test_absent_null_and_empty_are_the_same(body: bytes) -> None:
    parsed = parse_domain_filter(body)

    assert parsed.filter.matches_everything
    assert not parsed.said_filters


def test_it_tells_a_provider_that_said_filters_and_is_not_read() -> None:
    parsed = parse_domain_filter(b'{"filters":["example.org"]}')

    assert parsed.said_filters
    assert parsed.filter.matches_everything


def test_filters_beside_include_is_no_misunderstanding() -> None:
    parsed = parse_domain_filter(b'{"filters":["example.org"],"include":["example.org"]}')

    assert not parsed.said_filters
    assert parsed.filter == DomainFilter(include=("example.org",))


def test_it_reads_keys_as_go_does() -> None:
    parsed = parse_domain_filter(
        b'{"include":["example.org"],"Include":["example.net"],"EXCLUDE":["a.example.net"]}'
    )

    assert parsed.filter == DomainFilter(include=("example.net",), exclude=("a.example.net",))


@pytest.mark.parametrize(
    "body",
    [
        b'{"include":["example.org"],"regexInclude":"x"}',
        b'{"exclude":["example.org"],"regexExclude":"x"}',
        b'{"regexInclude":"("}',
        b'{"regexInclude":"(?=x)"}',
        rb'{"regexInclude":"(a)\\1"}',
        b'{"regexInclude":"' + b"a" * 4097 + b'"}',
        b'{"regexInclude":"((((a{100}){100}){100}){100})"}',
    ],
)
def test_it_refuses_both_kinds_at_once_and_patterns_re2_refuses(body: bytes) -> None:
    with pytest.raises(InvalidDomainFilter):
        parse_domain_filter(body)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"[]", "$"),
        (b"7", "$"),
        (b'{"include":"example.org"}', "$.include"),
        (b'{"include":["example.org",7]}', "$.include[1]"),
        (b'{"include":[null]}', "$.include[0]"),
        (b'{"regexInclude":["x"]}', "$.regexInclude"),
    ],
)
def test_it_says_where_a_type_is_wrong(body: bytes, path: str) -> None:
    with pytest.raises(WrongType) as caught:
        parse_domain_filter(body)

    assert caught.value.path == path


@pytest.mark.parametrize("body", [b"", b"{", b'{"include":["exam', b"{}x", b'{"regexInclude":"\\ud800"}'])
def test_it_refuses_a_body_that_is_no_json(body: bytes) -> None:
    with pytest.raises(WireError):
        parse_domain_filter(body)


def test_a_hostile_pattern_takes_linear_time() -> None:
    hostile = DomainFilter(regex_include=r"(a+)+$")

    assert not hostile.matches("a" * 250 + "!")


def test_a_name_with_half_a_surrogate_pair_is_matched_without_an_error() -> None:
    assert not PATTERN.matches("\ud800.example.org")


# As ExternalDNS does, one space and one dot are taken off the end of an entry, once: "0 ." is read as "0 ",
# and that as "0". Entries that are clean stay as they are.
entries = st.lists(texts.filter(lambda text: text == text.strip().removesuffix(".").lower())).map(tuple)
suffix_filters = st.builds(DomainFilter, include=entries, exclude=entries)
pattern_filters = st.builds(
    DomainFilter,
    regex_include=st.sampled_from(("", "a", r"\.example\.org$")),
    regex_exclude=st.sampled_from(("", "é", "^b")),
)


@given(suffix_filters | pattern_filters)
def test_what_is_encoded_is_read_back(domain_filter: DomainFilter) -> None:
    assert parse_domain_filter(encode_domain_filter(domain_filter)).filter == domain_filter
