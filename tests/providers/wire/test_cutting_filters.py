"""A domain filter cut to suffixes matches what matches both, in one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.domain_filter import DomainFilter, parse_domain_filter
from providers.wire.domain_filter_cut import NOTHING, cut_filter
from providers.wire.errors import InvalidDomainFilter
from providers.wire.json_codec import encode_domain_filter

_LABEL = st.sampled_from(["a", "b", "ab", "org", "a-b", "_x", "xn--mnchen-3ya"])
_NAME = st.lists(_LABEL, min_size=1, max_size=4).map(".".join)
_ENTRY = _NAME | _NAME.map(".{}".format)
_ENTRIES = st.lists(_ENTRY, max_size=3).map(tuple)
_INCLUDED = st.sampled_from(["", "a", "^b|ü", "(?i)A.*org$", r"\Qa.b"])
_EXCLUDED = st.sampled_from(["", "^a", "b$|ü", "(?i)^AB", r"\Qx.a"])
_FILTERS = st.builds(DomainFilter, include=_ENTRIES, exclude=_ENTRIES) | st.builds(
    DomainFilter, regex_include=_INCLUDED, regex_exclude=_EXCLUDED
)


@given(_FILTERS, st.lists(_ENTRY, min_size=1, max_size=4), st.lists(_NAME, max_size=10), st.data())
def test_a_name_matches_it_where_it_matches_both(
    managed: DomainFilter, suffixes: list[str], names: list[str], data: st.DataObject
) -> None:
    below = st.builds("{}.{}".format, _NAME, st.sampled_from(suffixes).map(lambda each: each.strip(".")))
    tried = [*names, *(each.strip(".") for each in suffixes), *data.draw(st.lists(below, max_size=5))]

    cut = cut_filter(managed, suffixes)

    wanted = DomainFilter(include=tuple(suffixes))
    for name in tried:
        for spelling in (name, f"*.{name}", name.upper(), f"{name}."):
            expected = managed.matches(spelling) and wanted.matches(spelling)
            assert cut.matches(spelling) == expected, spelling
    assert parse_domain_filter(encode_domain_filter(cut)).filter == cut
    assert not cut.matches_everything


def test_lists_stay_lists_and_patterns_stay_patterns() -> None:
    lists = cut_filter(
        DomainFilter(include=("example.org", "example.net"), exclude=("x.example.org",)), ["org"]
    )
    of_everything = cut_filter(DomainFilter(), ["blue.example.org"])
    patterns = cut_filter(DomainFilter(regex_include=r"\.org$"), ["example.org"])
    exclusion = cut_filter(DomainFilter(regex_exclude="^x"), ["example.org"])

    assert lists == DomainFilter(include=("example.org",), exclude=("x.example.org",))
    assert of_everything == DomainFilter(include=("blue.example.org",))
    assert patterns.regex_include == r"\.org$"
    assert (patterns.include, patterns.exclude) == ((), ())
    assert exclusion == DomainFilter(regex_include=r"(?:^|\.)example\.org$", regex_exclude="^x")


def test_nothing_in_common_is_a_filter_that_nothing_matches() -> None:
    cut = cut_filter(DomainFilter(include=("example.org",)), ["example.net", ".com"])

    assert cut is NOTHING
    assert not any(cut.matches(name) for name in ("example.org", "www.example.net", "com", "münchen.de", "."))


def test_without_suffixes_it_is_the_filter_itself() -> None:
    managed = DomainFilter(regex_include="a")

    assert cut_filter(managed, []) is managed


def test_suffixes_that_are_too_many_for_a_pattern_are_refused() -> None:
    suffixes = [f"{number:060}.example.org" for number in range(100)]

    with pytest.raises(InvalidDomainFilter):
        cut_filter(DomainFilter(regex_include="a"), suffixes)
