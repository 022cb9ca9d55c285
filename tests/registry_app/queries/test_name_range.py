"""Names by their beginning and their end, alike on both databases."""

import pytest

from registry_app.models import RecordSet
from registry_app.queries.named_row import build_prefix_query, build_suffix_query
from tests.factories import make_provider, make_record_set

NAMES = (
    "a.example.org",
    "a-b.example.org",
    "a.b.example.org",
    "example.org",
    "example.org-a.example.net",
    "notexample.org",
    "xn--bcher-kva.example.org",
    "_dmarc.example.org",
    "*.example.org",
)


@pytest.fixture
def _names(db: None) -> None:
    provider = make_provider()
    for name in NAMES:
        make_record_set(provider, name)


@pytest.mark.usefixtures("_names")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("example.org", {name for name in NAMES if name == "example.org" or name.endswith(".example.org")}),
        ("Example.ORG.", {name for name in NAMES if name == "example.org" or name.endswith(".example.org")}),
        ("b.example.org", {"a.b.example.org"}),
        ("bücher.example.org", {"xn--bcher-kva.example.org"}),
        ("ample.org", set()),
        ("", set()),
    ],
)
def test_a_suffix_means_the_name_and_what_is_below_it(typed: str, found: set[str]) -> None:
    rows = RecordSet.objects.filter(build_suffix_query(typed))

    assert {row.name for row in rows} == found


@pytest.mark.usefixtures("_names")
@pytest.mark.parametrize("prefix", ["a", "a-", "a.", "_", "*", "example.org", "x", "zz"])
def test_a_prefix_is_compared_byte_by_byte(prefix: str) -> None:
    rows = RecordSet.objects.filter(build_prefix_query("name", prefix))

    assert {row.name for row in rows} == {name for name in NAMES if name.startswith(prefix)}


@pytest.mark.usefixtures("_names")
def test_pages_are_in_byte_order_on_every_database() -> None:
    assert [row.name for row in RecordSet.objects.order_by("name")] == sorted(NAMES)
