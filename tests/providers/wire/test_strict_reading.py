"""A body that is acted on, or checked and passed on, must have one reading only."""

import json

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.errors import AmbiguousKeys, UndecodableBody, WireError, WrongType
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    encode_change_set,
    encode_endpoints,
)
from tests.providers.wire.wire_values import WWW, WWW_CLAIM

CHANGES = ChangeSet(create=(WWW,), update_old=(WWW_CLAIM,), update_new=(WWW_CLAIM,), delete=(WWW,))


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (b'{"dnsName":"mine.example.org","DNSName":"victim.example.org"}', "$[0].dnsName"),
        (b'{"dnsName":"mine.example.org","dnsName":"victim.example.org"}', "$[0].dnsName"),
        (b'{"dnsName":"mine.example.org","dnsName":"mine.example.org"}', "$[0].dnsName"),
        (b'{"dnsName":"mine.example.org","dns\\u004eame":"victim.example.org"}', "$[0].dnsName"),
        (b'{"DNSName":"victim.example.org"}', "$[0].dnsName"),
        (b'{"dnsName":"a","Targets":["192.0.2.1"]}', "$[0].targets"),
        (b'{"dnsName":"a","target\xc5\xbf":["192.0.2.1"]}', "$[0].targets"),
        (b'{"labels":{"owner":"blue-cluster","owner":"green-cluster"}}', "$[0].labels.'owner'"),
        (b'{"labels":{},"labels":{}}', "$[0].labels"),
        (b'{"providerSpecific":[{"name":"a","Name":"b"}]}', "$[0].providerSpecific[0].name"),
    ],
)
def test_it_refuses_keys_two_programs_could_read_differently(record: bytes, path: str) -> None:
    with pytest.raises(AmbiguousKeys) as caught:
        decode_endpoints_strict(b"[" + record + b"]", max_items=1)
    with pytest.raises(AmbiguousKeys):
        decode_change_set_strict(b'{"create":[' + record + b"]}", max_items=1)

    assert caught.value.path == path


@pytest.mark.parametrize(
    "body",
    [
        b'{"create":[],"Create":[]}',
        b'{"create":[],"create":[]}',
        b'{"create":[],"updateold":[]}',
        b'{"CREATE":[]}',
        b'{"Create":[],"updateOld":[]}',
    ],
)
def test_a_change_set_is_in_one_of_the_two_spellings_throughout(body: bytes) -> None:
    with pytest.raises(AmbiguousKeys):
        decode_change_set_strict(body, max_items=1)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"recordTTL": "300"}, ".recordTTL"),
        ({"recordTTL": 1.0}, ".recordTTL"),
        ({"recordTTL": False}, ".recordTTL"),
        ({"recordTTL": 2**63}, ".recordTTL"),
        ({"targets": "192.0.2.1"}, ".targets"),
        ({"targets": [None]}, ".targets[0]"),
        ({"targets": {}}, ".targets"),
        ({"labels": {"owner": None}}, ".labels.'owner'"),
        ({"labels": []}, ".labels"),
        ({"dnsName": 7}, ".dnsName"),
        ({"providerSpecific": {"name": "alias"}}, ".providerSpecific"),
        ([], ""),
        (None, ""),
    ],
)
def test_it_says_where_a_type_is_wrong(record: object, path: str) -> None:
    body = json.dumps({"delete": [{"dnsName": "a"}, record]}).encode()

    with pytest.raises(WrongType) as caught:
        decode_change_set_strict(body, max_items=2)

    assert caught.value.path == f"$.delete[1]{path}"


@pytest.mark.parametrize(
    "body", [b"[]", b"7", b'"x"', b'{"create":{}}', b'{"create":"x"}', b'{"delete":[[]]}']
)
def test_it_refuses_what_is_no_change_set(body: bytes) -> None:
    with pytest.raises(WrongType):
        decode_change_set_strict(body, max_items=1)


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"create":null,"updateOld":[]}', b'{"future":[{}]}'])
def test_a_change_set_may_be_empty(body: bytes) -> None:
    assert decode_change_set_strict(body, max_items=1).is_empty()


def test_half_a_surrogate_pair_cannot_be_passed_on() -> None:
    with pytest.raises(UndecodableBody):
        decode_endpoints_strict(b'[{"dnsName":"\\ud800"}]', max_items=1)


@pytest.mark.parametrize("body", [b'[{"recordTTL":NaN}]', b'[{"x":"\xff"}]', b'[{"x":"\x01"}]', b"[{'x':1}]"])
def test_one_broken_value_breaks_the_body(body: bytes) -> None:
    with pytest.raises(WireError):
        decode_endpoints_strict(body, max_items=1)


def test_unknown_fields_are_dropped() -> None:
    body = b'[{"dnsName":"a.example.org","future":{"x":1},"Future":2,"future":3}]'

    endpoints = decode_endpoints_strict(body, max_items=1)

    assert endpoints == (Endpoint(dns_name="a.example.org"),)
    assert encode_endpoints(endpoints) == b'[{"dnsName":"a.example.org"}]'


def test_it_reads_the_spelling_of_before_may_2025() -> None:
    body = encode_change_set(CHANGES, capitalized_keys=True)

    assert list(json.loads(body)) == ["Create", "UpdateOld", "UpdateNew", "Delete"]
    assert decode_change_set_strict(body, max_items=4) == CHANGES


def test_it_reads_what_external_dns_writes_with_empty_lists_left_out() -> None:
    body = b'{"create":' + encode_endpoints([WWW]) + b"}"

    assert decode_change_set_strict(body, max_items=1) == ChangeSet(create=(WWW,))


def test_it_reads_the_characters_go_escapes() -> None:
    body = b'[{"dnsName":"a.example.org","targets":["\\u003ca\\u0026b\\u003e"]}]'

    assert decode_endpoints_strict(body, max_items=1)[0].targets == ("<a&b>",)


def test_it_writes_all_four_lists_in_camel_case() -> None:
    assert encode_change_set(ChangeSet()) == b'{"create":[],"updateOld":[],"updateNew":[],"delete":[]}'
    assert encode_endpoints([]) == b"[]"
