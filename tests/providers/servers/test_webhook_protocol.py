"""The four calls of the webhook protocol, as ExternalDNS makes them."""

import http.client
import json
from pathlib import Path

import pytest
import requests

from providers.backends.memory import ApplyMode
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.json_codec import encode_endpoints
from tests.providers.servers.calls import (
    ACCEPT,
    CONTENT,
    MEDIA_TYPE,
    fetch_endpoints,
    fetch_records,
    post_body,
    post_changes,
)
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.servers.provider_server import WebhookServer


def test_negotiation_answers_the_exact_media_type_and_the_domain_filter() -> None:
    with ReferenceProvider(domain_filter=DomainFilter(include=("example.org",))) as provider:
        answer = requests.get(provider.url, headers=ACCEPT, timeout=5, allow_redirects=False)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/external.dns.webhook+json;version=1"
    assert answer.headers["Vary"] == "Content-Type"
    assert answer.json() == {"include": ["example.org"]}


@pytest.mark.parametrize("path", ["", "/"])
def test_a_base_path_is_answered_itself_without_a_redirect(path: str) -> None:
    with ReferenceProvider(make_zone(count=2), base_path="/dns/v1") as provider:
        answer = requests.get(provider.url + path, headers=ACCEPT, timeout=5, allow_redirects=False)
        endpoints = fetch_endpoints(provider.url)

    assert answer.status_code == 200
    assert provider.url.endswith("/dns/v1")
    assert endpoints == make_zone(count=2)


def test_records_are_an_array_of_endpoints() -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        answer = fetch_records(provider.url)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert answer.json()[1] == {
        "dnsName": "a-app-00000.example.org",
        "recordType": "TXT",
        "recordTTL": 300,
        "targets": [
            '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/app-00000"'
        ],
    }


def test_no_records_are_an_empty_array() -> None:
    with ReferenceProvider() as provider:
        answer = fetch_records(provider.url)

    assert answer.content == b"[]"


def test_changes_are_applied_and_answered_with_204_and_nothing() -> None:
    with ReferenceProvider([make_record()]) as provider:
        answer = post_changes(provider.url, ChangeSet(create=(make_claim(),)))

        assert (answer.status_code, answer.content) == (204, b"")
        assert "Content-Length" not in answer.headers
        assert fetch_endpoints(provider.url) == [make_record(), make_claim()]


def test_the_old_capitalized_spelling_is_read() -> None:
    body = (
        b'{"Create":[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":300}]}'
    )
    with ReferenceProvider() as provider:
        answer = post_body(provider.url, body)

        assert answer.status_code == 204
        assert provider.endpoints() == (make_record(),)


@pytest.mark.parametrize("body", [b"{}", b"null", b'{"create":null,"delete":[]}'])
def test_an_empty_change_set_is_a_success(body: bytes) -> None:
    with ReferenceProvider([make_record()]) as provider:
        assert post_body(provider.url, body).status_code == 204
        assert provider.endpoints() == (make_record(),)


def test_adjusting_answers_the_endpoints_with_their_labels() -> None:
    wanted = [{"dnsName": "www.example.org", "recordType": "A", "labels": {"resource": "ingress/shop/www"}}]
    with ReferenceProvider() as provider:
        answer = requests.post(
            f"{provider.url}/adjustendpoints", json.dumps(wanted), headers=ACCEPT | CONTENT, timeout=5
        )

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert answer.json() == wanted


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"create":[',
        b'{"create":[{"dnsName":1}]}',
        b'{"create":[{"dnsName":"a.example.org","DNSName":"b.example.org","recordType":"A"}]}',
        b'{"create":[],"create":[]}',
        b'{"create":[]} {}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"create":[{"dnsName":"a.example.org","recordType":"A","recordTTL":NaN}]}',
        rb'{"create":[{"dnsName":"a.example.org","recordType":"TXT","targets":["\ud800"]}]}',
    ],
)
def test_a_body_that_cannot_be_meant_is_400_and_changes_nothing(body: bytes) -> None:
    with ReferenceProvider([make_record()]) as provider:
        before = provider.zone_bytes()

        answer = post_body(provider.url, body)

        assert answer.status_code == 400
        assert "Nothing was applied." in answer.text
        assert provider.zone_bytes() == before


@pytest.mark.parametrize(
    "bad",
    [
        rb'{"dnsName":"a\u0000.example.org","recordType":"A"}',
        b'{"dnsName":"a.example.org","recordType":"A","recordTTL":2147483648}',
        b'{"dnsName":"a..example.org","recordType":"A"}',
        b'{"dnsName":"a.example.org"}',
    ],
)
def test_what_no_reader_could_take_is_left_out_with_500_and_the_rest_is_made(bad: bytes) -> None:
    good = encode_endpoints([make_record("good.example.org")]).strip(b"[]")
    with ReferenceProvider(mode=ApplyMode.EACH) as provider:
        answer = post_body(provider.url, b'{"create":[%s,%s]}' % (bad, good))

        assert answer.status_code == 500
        assert provider.endpoints() == (make_record("good.example.org"),)


def test_the_refusal_of_a_body_names_the_place() -> None:
    body = b'{"create":[{},{"dnsName":"a.example.org","recordTTL":"300"}]}'
    with ReferenceProvider() as provider:
        answer = post_body(provider.url, body)

    assert "$.create[1].recordTTL" in answer.text


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/json", "application/external.dns.webhook+json;version=2"]
)
def test_another_accept_is_406(accept: str) -> None:
    with ReferenceProvider() as provider:
        statuses = [
            requests.get(f"{provider.url}{path}", headers={"Accept": accept}, timeout=5).status_code
            for path in ("", "/records")
        ]

    assert statuses == [406, 406]


@pytest.mark.parametrize(
    "content_type", ["application/json", MEDIA_TYPE + "; charset=utf-8", MEDIA_TYPE.upper()]
)
def test_another_content_type_is_415_and_changes_nothing(content_type: str) -> None:
    with ReferenceProvider([make_record()]) as provider:
        answer = requests.post(
            f"{provider.url}/records", b"{}", headers={"Content-Type": content_type}, timeout=5
        )

    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/records"),
        ("DELETE", "/records"),
        ("HEAD", "/records"),
        ("GET", "/adjustendpoints"),
        ("POST", "/"),
    ],
)
def test_an_unsupported_method_is_400(method: str, path: str) -> None:
    with ReferenceProvider() as provider:
        answer = requests.request(method, provider.url + path, headers=ACCEPT, timeout=5)

    assert answer.status_code == 400


def test_another_path_is_404() -> None:
    with ReferenceProvider() as provider:
        assert requests.get(f"{provider.url}/record", headers=ACCEPT, timeout=5).status_code == 404


def test_a_change_that_does_not_fit_is_500_because_it_may_pass() -> None:
    with ReferenceProvider([make_record()]) as provider:
        stale = make_record(targets=("192.0.2.99",))

        answer = post_changes(provider.url, ChangeSet(delete=(stale,)))

        assert answer.status_code == 500
        assert "does not have the value the request calls old" in answer.text
        assert provider.endpoints() == (make_record(),)


def test_a_change_that_can_never_be_held_is_500_because_a_client_would_end_at_400(tmp_path: Path) -> None:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    server = WebhookServer(ZoneFileBackend(tmp_path))
    server.start()

    answer = post_changes(server.url, ChangeSet(create=(make_record(set_identifier="eu"), make_record())))
    shown = fetch_endpoints(server.url)
    server.stop()

    assert answer.status_code == 500
    assert "no place for a set identifier" in answer.text
    assert make_record() in shown


def test_a_failing_backend_is_500_and_never_an_empty_list(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    server = WebhookServer(ZoneFileBackend(path))
    server.start()
    path.write_text("not a zone")

    answers = [fetch_records(server.url), requests.get(server.url, headers=ACCEPT, timeout=5)]
    server.stop()

    assert [each.status_code for each in answers] == [500, 500]
    assert "Not a zone" in answers[0].text


def test_a_sequential_provider_answers_one_500_for_a_batch_it_applied_in_part() -> None:
    one, two = make_record("one.example.org"), make_record("two.example.org")
    with ReferenceProvider([one], mode=ApplyMode.SEQUENTIAL) as provider:
        answer = post_changes(provider.url, ChangeSet(create=(two, one)))

        assert answer.status_code == 500
        assert provider.endpoints() == (one, two)


def test_a_connection_is_kept_over_successes_and_errors() -> None:
    with ReferenceProvider([make_record()]) as provider:
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=5)
        statuses = []
        for method, path, body in (
            ("GET", "/records", None),
            ("POST", "/records", b"{"),
            ("GET", "/nowhere", None),
            ("POST", "/records", b"{}"),
            ("GET", "/", None),
        ):
            connection.request(method, path, body, headers=ACCEPT | CONTENT)
            local_port = connection.sock.getsockname()[1]
            answer = connection.getresponse()
            answer.read()
            statuses.append((answer.status, local_port))
        connection.close()

    assert [status for status, _ in statuses] == [200, 400, 404, 204, 200]
    assert len({local_port for _, local_port in statuses}) == 1


def test_a_stopped_provider_refuses_connections_and_comes_back_on_the_same_port() -> None:
    with ReferenceProvider([make_record()]) as provider:
        url = provider.url

        provider.stop()
        with pytest.raises(requests.ConnectionError):
            fetch_records(url)
        provider.start()

        assert provider.url == url
        assert fetch_endpoints(url) == [make_record()]


def test_an_answer_that_comes_again_is_the_same_and_a_change_shows_at_once() -> None:
    with ReferenceProvider([make_record("one.example.org")]) as provider:
        first, again = fetch_records(provider.url), fetch_records(provider.url)

        post_changes(provider.url, ChangeSet(create=(make_record("two.example.org"),)))

        assert first.content == again.content
        assert [each.dns_name for each in fetch_endpoints(provider.url)] == [
            "one.example.org",
            "two.example.org",
        ]
