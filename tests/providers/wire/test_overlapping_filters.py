"""Whether two domain filters let one name through."""

from hypothesis import given
from hypothesis import strategies as st

from providers.wire.domain_filter import DomainFilter

ENTRIES = ("org", "x.org", ".x.org", "a.x.org", ".a.x.org", "b.x.org", "net", "ax.org")
NAMES = ("org", "x.org", "a.x.org", "q.a.x.org", "b.x.org", "q.b.x.org", "c.x.org", "net", "q.net", "ax.org")
lists = st.lists(st.sampled_from(ENTRIES), max_size=3).map(tuple)
filters = st.builds(DomainFilter, include=lists, exclude=lists)


def test_filters_overlap_where_one_name_may_match_both() -> None:
    table = [
        ((), (), (), (), True),
        (("x.org",), (), (), (), True),
        (("x.org",), (), ("a.x.org",), (), True),
        (("x.org",), (), (".x.org",), (), True),
        (("a.x.org",), (), ("b.x.org",), (), False),
        (("x.org",), (), ("ax.org",), (), False),
        (("x.org",), ("a.x.org",), ("a.x.org",), (), False),
        (("x.org",), (".x.org",), ("x.org",), (), True),
        ((".x.org",), (), ("x.org",), (".x.org",), False),
        ((), ("x.org",), ("a.x.org", "b.x.org"), (), False),
        ((), ("a.x.org",), ("a.x.org", "b.x.org"), (), True),
        (("a.x.org",), ("org",), (), (), False),
    ]

    for include, exclude, others, other_exclude, expected in table:
        one, two = DomainFilter(include, exclude), DomainFilter(others, other_exclude)
        assert one.overlaps(two) is two.overlaps(one) is expected, (one, two)


def test_of_patterns_it_is_not_known() -> None:
    assert DomainFilter(regex_include=r"\.x\.org$").overlaps(DomainFilter(("net",)))
    assert DomainFilter(("net",)).overlaps(DomainFilter(regex_exclude="net"))


@given(filters, filters)
def test_no_name_matches_two_filters_that_do_not_overlap(one: DomainFilter, two: DomainFilter) -> None:
    both = [name for name in NAMES if one.matches(name) and two.matches(name)]

    assert one.overlaps(two) == two.overlaps(one)
    assert not both or one.overlaps(two)
