"""What we write is what ExternalDNS writes, and what cannot be written is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import format_labels, is_strict_heritage, parse_labels

_WRITABLE = st.text(
    st.characters(exclude_characters=',"=', exclude_categories=["C", "Zl", "Zp", "Zs"]), min_size=1
)


def test_it_writes_heritage_first_and_the_keys_sorted() -> None:
    labels = {"resource": "ingress/shop/web", "owner": "blue-cluster", "dualstack": "true"}

    text = format_labels(labels)

    assert text == (
        '"heritage=external-dns,external-dns/dualstack=true,external-dns/owner=blue-cluster,'
        'external-dns/resource=ingress/shop/web"'
    )


def test_it_leaves_the_quotes_out_where_they_are_not_wanted() -> None:
    text = format_labels({"owner": "blue-cluster"}, quoted=False)

    assert text == "heritage=external-dns,external-dns/owner=blue-cluster"


def test_it_never_writes_the_encryption_nonce() -> None:
    text = format_labels({"owner": "blue-cluster", "txt-encryption-nonce": "AAAAAAAAAAAAAAAA"})

    assert text == '"heritage=external-dns,external-dns/owner=blue-cluster"'


@pytest.mark.parametrize(
    "owner_id", ["blue,cluster", 'blue"', "blue=1", "blue\n", "\x7f", "\ud800", "\u200b"]
)
def test_it_refuses_what_a_claim_cannot_represent(owner_id: str) -> None:
    with pytest.raises(UnwritableLabel, match="owner"):
        format_labels({"owner": owner_id})


@pytest.mark.parametrize("key", ["", "a=b", "a,b", 'a"'])
def test_it_refuses_a_key_that_a_claim_cannot_represent(key: str) -> None:
    with pytest.raises(UnwritableLabel):
        format_labels({"owner": "blue-cluster", key: "x"})


@settings(deadline=None)
@given(
    labels=st.dictionaries(_WRITABLE.filter(lambda key: key != "txt-encryption-nonce"), _WRITABLE),
    quoted=st.booleans(),
)
def test_labels_that_can_be_written_are_read_back(labels: dict[str, str], *, quoted: bool) -> None:
    text = format_labels(labels, quoted=quoted)

    assert parse_labels(text) == labels
    assert is_strict_heritage(text)


@pytest.mark.parametrize(
    "text",
    [
        "external-dns/owner=blue-cluster,heritage=external-dns",
        "heritage=external-dns,external-dns/resource=x,external-dns/owner=blue-cluster",
        "heritage=external-dns,external-dns/owner=green-cluster,external-dns/owner=blue-cluster",
        "heritage=external-dns,external-dns/owner=blue-cluster,stray",
        "heritage=external-dns,external-dns/owner=a=b",
        '"heritage=external-dns,external-dns/owner=blue-cluster',
        '""heritage=external-dns,external-dns/owner=blue-cluster""',
        "v=spf1 -all",
    ],
)
def test_only_the_canonical_form_is_strict_heritage(text: str) -> None:
    assert not is_strict_heritage(text)
