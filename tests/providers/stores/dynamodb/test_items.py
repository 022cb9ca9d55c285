"""Items of a dynamodb registry and claims, both ways: what is not valid says so, and nothing raises."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.labels import format_labels, parse_labels
from providers.registries.stored_claim import StoredClaim
from providers.stores.dynamodb.item import (
    MAX_KEY_BYTES,
    UnstorableRow,
    build_attributes,
    build_item,
    format_key,
    read_item,
    read_items,
)
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey

BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/www"
WWW = Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",))

_NAMES = st.from_regex(r"(\*\.)?[A-Za-z0-9_-]{1,20}(\.[a-z0-9]{1,10}){1,3}\.?", fullmatch=True)
_RECORDS = st.builds(
    Endpoint,
    dns_name=_NAMES,
    record_type=st.sampled_from(["A", "AAAA", "CNAME", "TXT", "SRV", "a"]),
    set_identifier=st.text(string.ascii_letters + string.digits + "# -/", max_size=20),
)
_VALUES = st.text(string.ascii_letters + string.digits + "-/ .:;é", max_size=20)
_LABELS = st.dictionaries(st.text(string.ascii_lowercase + "-", min_size=1, max_size=10), _VALUES, max_size=6)
_OWNERS = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_TEXTS = st.fixed_dictionaries({"S": st.text(max_size=30)}) | _JSON
_KEYS = st.lists(st.text(max_size=10) | _NAMES, min_size=1, max_size=4).map("#".join)
_ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "k": st.fixed_dictionaries({"S": _KEYS}) | _TEXTS,
        "o": _TEXTS,
        "l": st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=8), _TEXTS, max_size=4)}) | _JSON,
        "more": _JSON,
    },
)


def make_item(
    key: str = "www.example.org#A#", owner_id: str = "blue-cluster", **labels: str
) -> dict[str, object]:
    held = {name: {"S": value} for name, value in labels.items()}
    return {"k": {"S": key}, "o": {"S": owner_id}, "l": {"M": held}}


def test_an_item_and_a_claim_are_the_same_statement() -> None:
    item = make_item(resource="ingress/shop/www")

    assert read_item(item).claim == StoredClaim(EndpointKey("www.example.org", "A", ""), BLUE)
    assert build_item(WWW, BLUE) == item


@settings(deadline=None)
@given(record=_RECORDS, owner_id=_OWNERS, labels=_LABELS)
def test_whatever_is_written_is_read_again(record: Endpoint, owner_id: str, labels: dict[str, str]) -> None:
    text = format_labels({**labels, "owner": owner_id}, quoted=False)

    item = read_item(build_item(record, text))

    assert item.claim == StoredClaim(endpoint_key(record), text)
    assert item.stored_key == f"{record.dns_name}#{record.record_type}#{record.set_identifier}"


@settings(deadline=None)
@given(value=_ITEMS)
def test_whatever_is_read_without_a_problem_is_written_as_it_was(value: dict[str, object]) -> None:
    item = read_item(value)

    if not item.claim.problem:
        labels = parse_labels(item.claim.text) or {}
        built = build_attributes(item.claim.text, item.attributes)
        assert built["o"] == value["o"] == {"S": labels["owner"]}
        assert read_item({**value, **built}).claim == item.claim


@settings(deadline=None)
@given(values=st.lists(_ITEMS | _JSON, max_size=5))
def test_no_item_is_too_odd_to_be_read(values: list[object]) -> None:
    items = read_items(values)

    assert len(items) == len(values)
    for item in items:
        assert parse_labels(item.claim.text) is not None
        assert len(item.claim.key.name) <= 253
        assert item.claim.key.name.isprintable()
        assert item.claim.text.isprintable()
        assert item.claim.problem.isprintable()
        assert item.claim.problem or item.claim.key.name


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (make_item("www.example.org"), "Its key is not a name, a type and a set identifier."),
        (make_item("www.example.org#A"), "Its key is not a name, a type and a set identifier."),
        (make_item("www.example.org##"), "Its key is not a name, a type and a set identifier."),
        (make_item("#A#"), "Its key means no record set: dnsName: a name is missing."),
        (make_item("a..example.org#A#"), "Its key means no record set: dnsName: an empty label in a name."),
        (
            make_item(f"www.example.org#A#{'x' * 256}"),
            "Its key means no record set: setIdentifier: 256 characters, more than 255.",
        ),
        (make_item(owner_id=""), "The claim names no owner."),
        ({"k": {"S": "www.example.org#A#"}}, "The claim names no owner."),
        ({**make_item(), "o": {"N": "7"}}, "The claim names no owner."),
        ({**make_item(), "o": "blue-cluster"}, "The claim names no owner."),
        (make_item(owner_id="blue,cluster"), "One of its labels holds what no claim can represent."),
        (make_item(resource="a,b"), "One of its labels holds what no claim can represent."),
        (make_item(resource="a\x00b"), "One of its labels holds what no claim can represent."),
        (make_item(owner="green-cluster"), "It names another owner among its labels than its own."),
        ({**make_item(), "l": {"S": "resource"}}, "Its labels are not a map of texts."),
        ({**make_item(), "l": {"M": {"resource": {"N": "1"}}}}, "Its labels are not a map of texts."),
        (
            make_item(**{f"label-{number}": "x" for number in range(51)}),
            "It has more labels, or longer labels, than allowed.",
        ),
        (make_item(resource="x" * 70_000), "It has more labels, or longer labels, than allowed."),
    ],
)
def test_an_item_that_is_not_valid_says_why(item: object, problem: str) -> None:
    assert read_item(item).claim.problem == problem


def test_what_can_be_read_of_such_an_item_is_still_shown() -> None:
    claim = read_item(make_item(resource="a,b", kept="yes")).claim

    assert claim.text == "heritage=external-dns,external-dns/kept=yes,external-dns/owner=blue-cluster"


def test_a_name_is_canonical_and_its_exact_key_is_kept() -> None:
    item = read_item(make_item("WWW.Example.org.#a#eu#west"))

    assert item.claim.key == EndpointKey("www.example.org", "A", "eu#west")
    assert item.stored_key == "WWW.Example.org.#a#eu#west"


def test_two_items_that_mean_one_record_set_are_both_set_aside() -> None:
    one, other, third = read_items(
        [make_item(), make_item("WWW.example.org#A#", "green-cluster"), make_item("b.example.org#A#")]
    )

    problem = "2 items of the table mean this record set: WWW.example.org#A#, www.example.org#A#."
    assert (one.claim.problem, other.claim.problem, third.claim.problem) == (problem, problem, "")
    assert one.claim.key == other.claim.key


def test_labels_an_item_need_not_have() -> None:
    without = {"k": {"S": "www.example.org#A#"}, "o": {"S": "blue-cluster"}}
    for item in (without, make_item(), make_item(owner="blue-cluster")):
        claim = read_item(item).claim

        assert (claim.text, claim.problem) == ("heritage=external-dns,external-dns/owner=blue-cluster", "")


def test_the_nonce_of_an_encrypted_claim_is_kept_and_never_shown() -> None:
    item = read_item(make_item(**{"txt-encryption-nonce": "bm9uY2U="}))

    assert item.claim.text == "heritage=external-dns,external-dns/owner=blue-cluster"
    assert build_attributes(BLUE, item.attributes)["l"] == {
        "M": {"resource": {"S": "ingress/shop/www"}, "txt-encryption-nonce": {"S": "bm9uY2U="}}
    }


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Endpoint(dns_name="a#b.example.org", record_type="A"), "another record set's"),
        (Endpoint(dns_name="www.example.org", record_type="A#B"), "another record set's"),
        (
            Endpoint(dns_name="www.example.org", record_type="A", set_identifier="x" * MAX_KEY_BYTES),
            "longer than the 2048 bytes",
        ),
        (Endpoint(dns_name="www.example.org", record_type=""), "cannot be read from its key"),
        (
            Endpoint(dns_name="www.example.org", record_type="A", set_identifier="x" * 300),
            "cannot be read from its key",
        ),
    ],
)
def test_a_record_set_whose_key_would_mean_another_gets_none(record: Endpoint, reason: str) -> None:
    with pytest.raises(UnstorableRow, match=reason):
        format_key(record)


@pytest.mark.parametrize(
    "text",
    [
        "no heritage",
        f'"{BLUE}"',
        f"{BLUE},more=text",
        "external-dns/owner=blue-cluster,heritage=external-dns",
        "heritage=external-dns,external-dns/resource=x",
        "heritage=external-dns,external-dns/owner=",
        "",
    ],
)
def test_a_text_that_would_not_be_read_again_is_not_written(text: str) -> None:
    with pytest.raises(UnstorableRow):
        build_attributes(text)
