"""The heritage text is read exactly as leniently as ExternalDNS reads it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.labels import describe_unreadable_owner, parse_labels


def test_it_reads_the_labels_of_a_claim_without_their_prefix() -> None:
    text = '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/web"'

    labels = parse_labels(text)

    assert labels == {"owner": "blue-cluster", "resource": "ingress/shop/web"}


@pytest.mark.parametrize(
    "text",
    [
        "heritage=external-dns,external-dns/owner=blue-cluster",
        '"heritage=external-dns,external-dns/owner=blue-cluster',
        '"""heritage=external-dns,external-dns/owner=blue-cluster""',
        "external-dns/owner=blue-cluster,heritage=external-dns",
        "heritage=external-dns,no equals sign,external-dns/owner=blue-cluster",
        "heritage=external-dns,foreign/key=x,external-dns/owner=blue-cluster",
        "heritage=external-dns,external-dns/owner=green-cluster,external-dns/owner=blue-cluster",
    ],
)
def test_it_reads_the_owner_as_external_dns_would(text: str) -> None:
    labels = parse_labels(text)

    assert labels == {"owner": "blue-cluster"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '""',
        "v=spf1 include:_spf.example.org -all",
        "external-dns/owner=blue-cluster",
        "heritage",
        "heritage=mate",
        "heritage=external-dns,external-dns/owner=blue-cluster,heritage=mate",
        "heritage=mate,heritage=external-dns,external-dns/owner=blue-cluster",
        " heritage=external-dns,external-dns/owner=blue-cluster",
        '\\"heritage=external-dns,external-dns/owner=blue-cluster\\"',
    ],
)
def test_a_text_without_our_heritage_is_foreign(text: str) -> None:
    assert parse_labels(text) is None


def test_a_value_begins_at_the_first_equals_sign() -> None:
    labels = parse_labels("heritage=external-dns,external-dns/owner=a=b")

    assert labels == {"owner": "a=b"}


def test_a_key_that_merely_begins_like_ours_is_kept_whole() -> None:
    labels = parse_labels("heritage=external-dns,external-dnsowner=mallory")

    assert labels == {"external-dnsowner": "mallory"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("heritage=external-dns", "names no owner"),
        ("heritage=external-dns,external-dns/owner=", "names no owner"),
        ('heritage=external-dns,external-dns/owner=blue" "cluster,x=y', "quote"),
        ("heritage=external-dns,external-dns/owner=blue\x00", "cannot be printed"),
        ("heritage=external-dns,external-dns/owner=a=b", ""),
    ],
)
def test_it_says_why_an_owner_cannot_be_read(text: str, reason: str) -> None:
    labels = parse_labels(text)

    assert labels is not None
    described = describe_unreadable_owner(labels)
    assert reason in described
    assert bool(described) == bool(reason)


@settings(deadline=None)
@given(
    st.text() | st.lists(st.sampled_from(["heritage", "external-dns", "/", "=", ",", '"', "x"])).map("".join)
)
def test_no_text_is_too_odd_to_read(text: str) -> None:
    labels = parse_labels(text)

    assert labels is None or all("," not in value for value in labels.values())


_TOKEN = st.sampled_from(
    [
        *(
            "heritage=external-dns",
            "heritage=external-dns",
            "heritage=mate",
            "heritage",
            "heritage=",
            "=",
            "",
        ),
        *("external-dns/owner=blue", "external-dns/owner=a=b", "external-dns/owner", "external-dns/owner="),
        *("external-dns/resource=ingress/shop/web", "external-dns/x=y", "external-dns=z", "external-dnsx=w"),
        *("owner=green", "resource=none", '"external-dns/owner=quoted"', " external-dns/owner=blank"),
    ]
)


@given(st.lists(_TOKEN, max_size=6), st.sampled_from(["", '"', '""']))
def test_usual_and_other_keys_are_read_alike(tokens: list[str], quotes: str) -> None:
    text = f"{quotes}{','.join(tokens)}{quotes}"

    assert parse_labels(text) == _read_token_by_token(text)


def _read_token_by_token(text: str) -> dict[str, str] | None:
    pairs = [token.split("=", 1) for token in text.strip('"').split(",") if "=" in token]
    if {value for key, value in pairs if key == "heritage"} != {"external-dns"}:
        return None
    ours = [(key, value) for key, value in pairs if key.startswith("external-dns")]
    return {key.removeprefix("external-dns/"): value for key, value in ours}
