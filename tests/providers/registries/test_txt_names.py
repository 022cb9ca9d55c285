"""Record name to TXT name and back, under every kind of profile."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, ClaimFormat, TxtProfile
from providers.registries.errors import TxtNameTooLong
from providers.registries.txt_names import CLAIMABLE_TYPES, format_txt_name, parse_txt_name

_LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
_NAME = st.lists(_LABEL, min_size=2, max_size=5).map(".".join)
_AFFIX = st.sampled_from(
    ["", "extdns.", "extdns-", "EXTDNS-x.", "%{record_type}-abc-.", "%{record_type}.", "x-%{record_type}-"]
)
_SUFFIX = st.sampled_from(
    ["-txt", ".txt", "-.%{record_type}", "-%{record_type}", ".a.b.%{record_type}", ".A-b"]
)
_PROFILE = st.builds(lambda affix: TxtProfile(prefix=affix), _AFFIX) | st.builds(
    lambda affix: TxtProfile(suffix=affix), _SUFFIX
)


@pytest.mark.parametrize(
    ("profile", "record_name", "record_type", "txt_name"),
    [
        (DEFAULT_PROFILE, "www.ex.com", "A", "a-www.ex.com"),
        (DEFAULT_PROFILE, "www.ex.com", "CNAME", "cname-www.ex.com"),
        (TxtProfile(prefix="extdns."), "www.ex.com", "A", "extdns.a-www.ex.com"),
        (TxtProfile(prefix="%{record_type}-abc-."), "ex.com", "CNAME", "cname-abc-.ex.com"),
        (TxtProfile(suffix="-.%{record_type}"), "www.ex.com", "CNAME", "www-.cname.ex.com"),
        (TxtProfile(suffix="-txt"), "www.ex.com", "AAAA", "aaaa-www-txt.ex.com"),
        (TxtProfile(prefix="ExtDNS."), "www.ex.com", "A", "extdns.a-www.ex.com"),
        (TxtProfile(suffix=".txt"), "localhost", "A", "a-localhost.txt"),
        (DEFAULT_PROFILE, "*.ex.com", "A", "a-*.ex.com"),
    ],
)
def test_names_of_the_specification_both_ways(
    profile: TxtProfile, record_name: str, record_type: str, txt_name: str
) -> None:
    formatted = format_txt_name(record_name, record_type, profile)
    reading = parse_txt_name(txt_name, profile)

    assert formatted == txt_name
    assert reading == (record_name, record_type, ClaimFormat.NEW)


def test_a_wildcard_is_written_as_its_replacement_and_read_as_it_stands() -> None:
    profile = TxtProfile(wildcard_replacement="any")

    txt_name = format_txt_name("*.ex.com", "A", profile)
    reading = parse_txt_name(txt_name, profile)

    assert txt_name == "a-any.ex.com"
    assert reading == ("any.ex.com", "A", ClaimFormat.NEW)


@pytest.mark.parametrize(
    ("profile", "txt_name", "record_name"),
    [
        (DEFAULT_PROFILE, "www.ex.com", "www.ex.com"),
        (DEFAULT_PROFILE, "web-a.ex.com", "web-a.ex.com"),
        (DEFAULT_PROFILE, "a.foo-bar.com", "a.foo-bar.com"),
        (TxtProfile(prefix="extdns."), "extdns.www.ex.com", "www.ex.com"),
        (TxtProfile(suffix="-txt"), "www-txt.ex.com", "www.ex.com"),
        (TxtProfile(prefix="%{record_type}-abc-."), "-abc-.ex.com", "ex.com"),
        (TxtProfile(suffix="-.%{record_type}"), "www-..ex.com", "www.ex.com"),
    ],
)
def test_a_name_without_type_is_the_legacy_format(
    profile: TxtProfile, txt_name: str, record_name: str
) -> None:
    reading = parse_txt_name(txt_name, profile)

    assert reading == (record_name, "", ClaimFormat.LEGACY)


@pytest.mark.parametrize(
    ("profile", "txt_name"),
    [
        (TxtProfile(prefix="extdns."), "a-www.ex.com"),
        (TxtProfile(suffix="-txt"), "a-www.ex.com"),
        (TxtProfile(suffix=".a.b.c.d"), "a-www.ex"),
        (TxtProfile(prefix="extdns."), "extdns."),
        (DEFAULT_PROFILE, "a-.ex.com"),
        (DEFAULT_PROFILE, "a-"),
        (DEFAULT_PROFILE, ""),
    ],
)
def test_a_name_the_profile_does_not_fit_has_no_reading(profile: TxtProfile, txt_name: str) -> None:
    assert parse_txt_name(txt_name, profile) is None


def test_the_first_type_that_fits_a_template_wins() -> None:
    profile = TxtProfile(prefix="%{record_type}")

    reading = parse_txt_name("aaaa1.ex.com", profile)

    assert reading == ("aaa1.ex.com", "A", ClaimFormat.NEW)


def test_a_type_alone_before_the_suffix_is_read_as_external_dns_reads_it() -> None:
    reading = parse_txt_name("a-txt.ex.com", TxtProfile(suffix="-txt"))

    assert reading == ("a.ex.com", "A", ClaimFormat.NEW)


def test_case_and_trailing_dot_do_not_matter() -> None:
    reading = parse_txt_name("EXTDNS.A-Www.Ex.Com.", TxtProfile(prefix="extdns."))

    assert reading == ("www.ex.com", "A", ClaimFormat.NEW)


def test_a_spelling_beyond_ascii_is_kept_for_external_dns_compares_letters() -> None:
    assert format_txt_name("münchen.example.org.", "A", DEFAULT_PROFILE) == "a-münchen.example.org"


def test_a_label_may_have_63_characters_and_no_more() -> None:
    fits = format_txt_name(f"{'x' * 61}.example.org", "A", DEFAULT_PROFILE)

    assert len(fits.split(".")[0]) == 63
    with pytest.raises(TxtNameTooLong, match="63 at most"):
        format_txt_name(f"{'x' * 62}.example.org", "A", DEFAULT_PROFILE)


def test_a_name_may_have_253_characters_and_no_more() -> None:
    longest = ".".join(["x" * 59, "y" * 63, "z" * 63, "w" * 63])
    assert len(longest) == 251

    fits = format_txt_name(longest, "A", DEFAULT_PROFILE)

    assert len(fits) == 253
    with pytest.raises(TxtNameTooLong, match="253 at most"):
        format_txt_name(longest, "MX", DEFAULT_PROFILE)


@settings(deadline=None)
@given(_NAME, st.sampled_from(CLAIMABLE_TYPES), _PROFILE)
def test_every_written_name_is_read_back(record_name: str, record_type: str, profile: TxtProfile) -> None:
    txt_name = format_txt_name(record_name, record_type, profile)

    assert parse_txt_name(txt_name, profile) == (record_name, record_type, ClaimFormat.NEW)


@settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_no_name_and_no_affix_is_too_odd_to_read(txt_name: str, prefix: str, suffix: str) -> None:
    reading = parse_txt_name(txt_name, TxtProfile(prefix=prefix, suffix=suffix))

    assert reading is None or reading.record_name
