"""The mirror must see what ExternalDNS, a Go program, sees."""

import pytest

from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import decode_records
from tests.providers.wire.wire_values import WWW

FULL = Endpoint(
    dns_name="www.example.org",
    targets=("192.0.2.1", "192.0.2.2"),
    record_type="A",
    set_identifier="blue",
    record_ttl=300,
    labels={"owner": "blue-cluster"},
    provider_specific=(ProviderSpecificProperty("alias", "true"),),
)


@pytest.mark.parametrize("body", [b"[]", b"null", b" [ ] ", b"\r\n null\t", b"[\n]\n"])
def test_an_empty_list_may_be_written_in_several_ways(body: bytes) -> None:
    records = decode_records(body, max_items=0)

    assert records.endpoints == []
    assert records.set_aside == []


@pytest.mark.parametrize(
    "body",
    [
        (
            b'[{"dnsName":"www.example.org","targets":["192.0.2.1","192.0.2.2"],"recordType":"A",'
            b'"setIdentifier":"blue","recordTTL":300,"labels":{"owner":"blue-cluster"},'
            b'"providerSpecific":[{"name":"alias","value":"true"}]}]'
        ),
        (
            b'[ {"recordTTL": 300, "labels": {"owner": "blue-cluster"}, "future": {"x": [1.5, null, true]},'
            b' "providerSpecific": [{"value": "true", "more": 1, "name": "alias"}], "setIdentifier": "blue",'
            b' "recordType": "A", "targets": ["192.0.2.1", "192.0.2.2"], "dnsName": "www.example.org"} ]\n'
        ),
        (
            b'[{"DNSNAME":"www.example.org","Targets":["192.0.2.1","192.0.2.2"],"recordtype":"A",'
            b'"set\\u0049dentifier":"blue","RecordTTL":300,"label\xc5\xbf":{"owner":"blue-cluster"},'
            b'"ProviderSpecific":[{"Name":"alias","VALUE":"true"}]}]'
        ),
    ],
)
def test_order_space_unknown_fields_and_the_case_of_keys_do_not_matter(body: bytes) -> None:
    records = decode_records(body, max_items=1)

    assert records.endpoints == [FULL]
    assert records.set_aside == []


def test_null_is_absent() -> None:
    body = (
        b'[{"dnsName":"www.example.org","targets":null,"recordType":null,"setIdentifier":null,'
        b'"recordTTL":null,"labels":null,"providerSpecific":null}]'
    )

    assert decode_records(body, max_items=1).endpoints == [Endpoint(dns_name="www.example.org")]


def test_null_beside_values_in_one_record_is_absent() -> None:
    body = (
        b'[{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A","recordTTL":300,'
        b'"setIdentifier":null,"labels":null,"providerSpecific":null}]'
    )

    assert decode_records(body, max_items=1).endpoints == [WWW]


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (b'"dnsName":"mine.example.org","DNSName":"victim.example.org"', "victim.example.org"),
        (b'"DNSName":"victim.example.org","dnsName":"mine.example.org"', "mine.example.org"),
        (b'"dnsName":"mine.example.org","dnsName":"victim.example.org"', "victim.example.org"),
        (b'"dnsName":"mine.example.org","dns\\u004eame":"victim.example.org"', "victim.example.org"),
        (b'"dnsName":"mine.example.org","DN\xc5\xbfName":"victim.example.org"', "victim.example.org"),
        (b'"dnsName":"mine.example.org","dnsName":null', "mine.example.org"),
        (b'"dnsName":null,"DNSNAME":"mine.example.org","dnsName":null', "mine.example.org"),
    ],
)
def test_of_several_keys_the_last_wins_and_null_leaves_a_text_as_it_was(keys: bytes, name: str) -> None:
    records = decode_records(b"[{" + keys + b"}]", max_items=1)

    assert [endpoint.dns_name for endpoint in records.endpoints] == [name]


def test_repeated_labels_are_read_into_one_map() -> None:
    body = b'[{"dnsName":"www.example.org","labels":{"owner":"blue-cluster"},"labels":{"resource":"x"}}]'

    (endpoint,) = decode_records(body, max_items=1).endpoints

    assert endpoint.labels == {"owner": "blue-cluster", "resource": "x"}


def test_a_record_is_kept_as_it_was_spelled() -> None:
    spelled = Endpoint(dns_name="WWW.Example.ORG.", targets=("LB.example.org.",), record_type="CNAME")
    body = b'[{"dnsName":"WWW.Example.ORG.","targets":["LB.example.org."],"recordType":"CNAME"}]'

    assert decode_records(body, max_items=1).endpoints == [spelled]


def test_records_of_one_key_are_all_told() -> None:
    body = b'[{"dnsName":"a.example.org"},{"dnsName":"A.example.org"},{"dnsName":"a.example.org"}]'

    assert len(decode_records(body, max_items=3).endpoints) == 3
