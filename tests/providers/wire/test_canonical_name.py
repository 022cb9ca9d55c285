import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.canonical_name import (
    InvalidName,
    canonical_name,
    endpoint_key,
    has_second_reading,
    reversed_name,
)
from providers.wire.endpoint import Endpoint, EndpointKey

LONGEST_NAME = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("www.example.org", "www.example.org"),
        ("WWW.Example.ORG.", "www.example.org"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("*.example.org", "*.example.org"),
        (r"\052.example.org.", "*.example.org"),
        (r"www.\052.example.org", r"www.\052.example.org"),
        ("straße.de", "strasse.de"),
        ("STRAẞE.de", "strasse.de"),
        ("βόλος.example.org", "xn--nxasmq6b.example.org"),
        ("a\u200db\u200c.example.org", "ab.example.org"),
        ("bücher.example.org", "xn--bcher-kva.example.org"),
        ("bu\u0308cher.example.org", "xn--bcher-kva.example.org"),
        ("XN--Bcher-KVA.example.org", "xn--bcher-kva.example.org"),
        ("www。example．org", "www.example.org"),
        ("ｗｗｗ.example.org", "www.example.org"),
        ("0/25.2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa"),
        (LONGEST_NAME, LONGEST_NAME),
    ],
)
def test_it_reads_a_name_as_external_dns_does(spelling: str, name: str) -> None:
    assert canonical_name(spelling) == name


@pytest.mark.parametrize(
    ("spelling", "why"),
    [
        ("", "missing"),
        (".", "missing"),
        ("\u200d", "missing"),
        (".example.org", "empty label"),
        ("www..example.org", "empty label"),
        ("www.example.org..", "empty label"),
        ("www.\u200d.example.org", "empty label"),
        (f"{'a' * 64}.example.org", "label of 64"),
        (f"{'ü' * 60}.example.org", "label of"),
        (f"{LONGEST_NAME}d", "name of 254"),
        ("a" * 100_000, "no name"),
        (" www.example.org", "white space"),
        ("www\t.example.org", "control"),
        ("www\x00.example.org", "control"),
        ("www\n", "control"),
        ("www\u00a0x.example.org", "white space"),
        ("\ud800.example.org", "character"),
        ("\ufffe.example.org", "character"),
    ],
)
def test_it_refuses_what_cannot_be_a_name(spelling: str, why: str) -> None:
    with pytest.raises(InvalidName, match=why):
        canonical_name(spelling)


@given(st.text(max_size=80) | st.text(alphabet="aAß\u200d.。*_\\052xn-é", max_size=40))
def test_a_canonical_name_is_its_own_canonical_name_and_nothing_but_invalid_name_is_raised(text: str) -> None:
    try:
        name = canonical_name(text)
        odd = has_second_reading(text)
    except InvalidName:
        return

    assert canonical_name(name) == name
    assert name.isascii()
    assert name == name.lower()
    assert odd in (True, False)


@pytest.mark.parametrize(
    "spelling",
    [
        "straße.de",
        "STRAẞE.de",
        "βόλος.example.org",
        "a\u200db.example.org",
        r"www\.bad.example.org",
        r"\141.example.org",
        "xn--abc-.example.org",
        "xn--\x21\x21\x21.example.org",
        "xn--99999999.example.org",
        "XN--STRASSE-.de",
    ],
)
def test_it_tells_a_name_that_another_program_may_read_otherwise(spelling: str) -> None:
    assert has_second_reading(spelling)


@pytest.mark.parametrize(
    "spelling",
    [
        "www.example.org",
        "WWW.example.org.",
        "*.example.org",
        r"\052.example.org",
        "bücher.example.org",
        "xn--bcher-kva.example.org",
        "xn--strae-oqa.de",
    ],
)
def test_it_knows_a_name_that_has_one_reading_only(spelling: str) -> None:
    assert not has_second_reading(spelling)


def test_a_key_is_canonical_name_upper_case_type_and_set_identifier_as_it_is() -> None:
    endpoint = Endpoint(dns_name="WWW.Example.org.", record_type="cname", set_identifier="Blue")

    key = endpoint_key(endpoint)

    assert key == EndpointKey("www.example.org", "CNAME", "Blue")


def test_a_name_without_labels_has_no_key() -> None:
    with pytest.raises(InvalidName):
        endpoint_key(Endpoint(record_type="A"))


def test_what_lies_below_a_suffix_shares_a_prefix_when_reversed() -> None:
    assert reversed_name("www.example.org") == "org.example.www"
    assert reversed_name("org") == "org"
