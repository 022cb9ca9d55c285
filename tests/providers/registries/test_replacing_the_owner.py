"""Another owner in the same text: every other byte stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.errors import ForeignText, UnwritableLabel
from providers.registries.labels import parse_labels, replace_owner

_TOKEN = st.text(st.characters(exclude_characters=',"', exclude_categories=["Cs"])).filter(
    lambda token: not token.startswith(("heritage=", "external-dns/owner="))
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/web"',
            '"heritage=external-dns,external-dns/owner=green-cluster,external-dns/resource=ingress/shop/web"',
        ),
        (
            "external-dns/z=1, odd ,external-dns/owner=blue-cluster,,heritage=external-dns,a=b=c",
            "external-dns/z=1, odd ,external-dns/owner=green-cluster,,heritage=external-dns,a=b=c",
        ),
        (
            '""heritage=external-dns,external-dns/owner=a=b"',
            '""heritage=external-dns,external-dns/owner=green-cluster"',
        ),
        (
            "heritage=external-dns,external-dns/owner=x,external-dns/owner=y",
            "heritage=external-dns,external-dns/owner=green-cluster,external-dns/owner=green-cluster",
        ),
    ],
)
def test_only_the_value_of_the_owner_changes(raw: str, expected: str) -> None:
    assert replace_owner(raw, "green-cluster") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("heritage=external-dns", "heritage=external-dns,external-dns/owner=green-cluster"),
        (
            "heritage=external-dns,external-dns/d=true,external-dns/resource=x",
            "heritage=external-dns,external-dns/d=true,external-dns/owner=green-cluster,external-dns/resource=x",
        ),
        (
            "external-dns/resource=x,heritage=external-dns",
            "external-dns/resource=x,heritage=external-dns,external-dns/owner=green-cluster",
        ),
    ],
)
def test_a_missing_owner_is_put_where_sorting_would_have_it(raw: str, expected: str) -> None:
    assert replace_owner(raw, "green-cluster") == expected


def test_it_leaves_a_foreign_text_alone() -> None:
    with pytest.raises(ForeignText, match="left as it is"):
        replace_owner("v=spf1 -all", "green-cluster")


@pytest.mark.parametrize("owner_id", ["", "green,cluster", 'green"', "green=1", "green\t"])
def test_it_refuses_an_owner_that_a_claim_cannot_name(owner_id: str) -> None:
    with pytest.raises(UnwritableLabel):
        replace_owner("heritage=external-dns,external-dns/owner=blue-cluster", owner_id)


@settings(deadline=None)
@given(before=st.lists(_TOKEN), after=st.lists(_TOKEN), quotes=st.sampled_from(["", '"', '""']))
def test_there_and_back_again_gives_the_same_bytes(before: list[str], after: list[str], quotes: str) -> None:
    head = quotes + ",".join([*before, "heritage=external-dns", "external-dns/owner="])
    tail = ",".join(["", *after]) + quotes
    raw = f"{head}blue-cluster{tail}"

    moved = replace_owner(raw, "green-cluster")

    assert (parse_labels(moved) or {})["owner"] == "green-cluster"
    assert moved == f"{head}green-cluster{tail}"
    assert replace_owner(moved, "blue-cluster") == raw
