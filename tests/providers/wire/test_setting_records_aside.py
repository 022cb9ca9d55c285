"""A poisoned record is set aside alone; the others stay."""

import json

import pytest

from providers.wire.canonical_name import endpoint_key
from providers.wire.json_codec import decode_records, encode_endpoints
from tests.providers.wire.wire_values import WWW, WWW_CLAIM

GOOD = encode_endpoints([WWW, WWW_CLAIM])[1:-1]


def named(**fields: object) -> bytes:
    return json.dumps({"dnsName": "bad.example.org", **fields}).encode()


POISON = [
    pytest.param(b"7", "", "object was expected", id="a number"),
    pytest.param(b"null", "", "object was expected", id="null"),
    pytest.param(b"[]", "", "object was expected", id="an array"),
    pytest.param(b"nonsense", "", "not JSON", id="no JSON"),
    pytest.param(b'{"dnsName" "x"}', "", "not JSON", id="no colon"),
    pytest.param(b'{"dnsName":"bad.example.org","x":\x01}', "", "not JSON", id="raw control character"),
    pytest.param(b'{"dnsName":"bad.example.org","targets":["\x00"]}', "", "not JSON", id="raw NUL"),
    pytest.param(b'{"dnsName":"bad.example.org","targets":["\\q"]}', "", "not JSON", id="bad escape"),
    pytest.param(b'{"dnsName":"bad.example.org","recordTTL":NaN}', "", "NaN", id="NaN"),
    pytest.param(b'{"dnsName":"bad.example.org","recordTTL":-Infinity}', "", "NaN", id="infinity"),
    pytest.param(b'{"dnsName":"bad.example.org","targets":["\xff"]}', ".targets[0]", "UTF-8", id="not UTF-8"),
    pytest.param(
        b'{"dnsName":"bad.example.org","recordTTL":' + b"9" * 5000 + b"}",
        ".recordTTL",
        "whole number",
        id="5,000 digits",
    ),
    pytest.param(named(recordTTL=2**31), ".recordTTL", "TTL outside", id="TTL too large"),
    pytest.param(named(recordTTL=2**70), ".recordTTL", "", id="TTL beyond 64 bits"),
    pytest.param(named(recordTTL=-1), ".recordTTL", "TTL outside", id="negative TTL"),
    pytest.param(named(recordTTL=300.5), ".recordTTL", "whole number", id="fraction"),
    pytest.param(named(recordTTL=300.0), ".recordTTL", "whole number", id="a float Go refuses"),
    pytest.param(named(recordTTL="300"), ".recordTTL", "whole number", id="TTL as text"),
    pytest.param(named(recordTTL=True), ".recordTTL", "whole number", id="TTL as truth"),
    pytest.param(named(targets=["192.0.2.1"] * 101), ".targets", "101 targets", id="many targets"),
    pytest.param(named(targets="192.0.2.1"), ".targets", "array was expected", id="targets as text"),
    pytest.param(named(targets=["192.0.2.1", None]), ".targets[1]", "null", id="null target"),
    pytest.param(named(targets=["a\tb"]), ".targets", "control", id="tab in a target"),
    pytest.param(named(targets=["\x00"]), ".targets", "control", id="escaped NUL"),
    pytest.param(named(targets=["\x7f"]), ".targets", "control", id="DEL"),
    pytest.param(b'{"dnsName":"bad.example.org","targets":["\x7f"]}', ".targets", "control", id="raw DEL"),
    pytest.param(b'{"dnsName":"bad.example.org","targets":["\xc2\x80"]}', ".targets", "control", id="raw C1"),
    pytest.param(named(targets=["\ud800"]), ".targets[0]", "surrogate", id="lone surrogate"),
    pytest.param(named(labels={"\udfff": "x"}), ".labels.'\\udfff'", "surrogate", id="surrogate in a key"),
    pytest.param(named(labels={"owner": "a\nb"}), ".labels", "control", id="newline in a label"),
    pytest.param(named(labels={"owner": 7}), ".labels.'owner'", "string was expected", id="label as number"),
    pytest.param(named(labels=["owner"]), ".labels", "object was expected", id="labels as array"),
    pytest.param(named(labels={f"l{n}": "" for n in range(51)}), ".labels", "51 labels", id="many labels"),
    pytest.param(named(providerSpecific=[7]), ".providerSpecific[0]", "object", id="property as number"),
    pytest.param(
        named(providerSpecific=[{"name": "a"}] * 101),
        ".providerSpecific",
        "101 properties",
        id="many properties",
    ),
    pytest.param(named(recordType="T" * 33), ".recordType", "33 characters", id="long type"),
    pytest.param(
        named(setIdentifier="s" * 256), ".setIdentifier", "256 characters", id="long set identifier"
    ),
    pytest.param(named(targets=["x" * 66_000]), "", "65536 bytes", id="more than 64 KiB"),
    pytest.param(named(dnsName=f"{'a' * 64}.example.org"), ".dnsName", "label of 64", id="long label"),
    pytest.param(named(dnsName="a." * 128), ".dnsName", "name of 255", id="long name"),
    pytest.param(named(dnsName="a..b"), ".dnsName", "empty label", id="empty label"),
    pytest.param(named(dnsName="a b"), ".dnsName", "white space", id="space in a name"),
    pytest.param(b"{}", ".dnsName", "missing", id="no name"),
    pytest.param(b'{"targets":["192.0.2.1"]}', ".dnsName", "missing", id="no name beside targets"),
]


@pytest.mark.parametrize(("poison", "field", "reason"), POISON)
def test_it_sets_one_poisoned_record_aside_and_keeps_the_others(
    poison: bytes, field: str, reason: str
) -> None:
    body = b"[" + GOOD + b"," + poison + b"," + GOOD + b"]"

    records = decode_records(body, max_items=5)

    assert records.endpoints == [WWW, WWW_CLAIM, WWW, WWW_CLAIM]
    (aside,) = records.set_aside
    assert (aside.index, aside.path) == (2, f"$[2]{field}")
    assert reason in aside.reason


def test_it_names_what_it_sets_aside_in_printable_text() -> None:
    body = b'[{"dnsName":"\xe2\x80\xaeevil\\u0007.example.org","recordTTL":-1},{"dnsName":"x.example.org",,}]'

    records = decode_records(body, max_items=2)

    assert [aside.name for aside in records.set_aside] == ["\\u202eevil\\u0007.example.org", "x.example.org"]


def test_a_name_too_long_for_a_finding_is_cut() -> None:
    body = b'[{"dnsName":"' + b"\\u0007" * 1000 + b'"}]'

    (aside,) = decode_records(body, max_items=1).set_aside

    assert len(aside.name) <= 253


@pytest.mark.parametrize(
    "fields",
    [
        {"recordTTL": 2**31 - 1},
        {"targets": ["192.0.2.1"] * 100},
        {"labels": {f"l{n}": "" for n in range(50)}},
        {"dnsName": "a." * 127},
        {"dnsName": "bücher.example.org"},
        {"targets": ['"a \\n is two characters"']},
        {"targets": ["x" * 60_000]},
        {"setIdentifier": "s" * 255},
    ],
)
def test_it_keeps_what_is_just_within_the_limits(fields: dict[str, object]) -> None:
    records = decode_records(b"[" + named(**fields) + b"," + GOOD + b"]", max_items=3)

    assert len(records.endpoints) == 3
    assert records.set_aside == []
    assert all(endpoint_key(endpoint).name for endpoint in records.endpoints)


def test_unknown_fields_never_poison_a_record() -> None:
    body = (
        b'[{"dnsName":"www.example.org","future":{"x":"\\ud800\\u0000","y":' + b"9" * 5000 + b',"z":"\xff"}}]'
    )

    records = decode_records(body, max_items=1)

    assert len(records.endpoints) == 1
