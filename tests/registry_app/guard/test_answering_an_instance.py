"""What the guard answers to one instance, call by call."""

import gzip
from pathlib import Path

import pytest
import requests

from providers.wire.domain_filter import DomainFilter
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_endpoints
from registry_app.models import GuardEndpoint, Provider
from registry_app.queries.guard_credential import compute_password_hash
from tests.faults import read_faults
from tests.faults.fault import Fault
from tests.reference_server import make_record, make_zone
from tests.registry_app.guard.serving import guarded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
PAUSED = GuardEndpoint.Mode.PAUSED


@pytest.mark.parametrize("call", ["", "/"])
def test_the_negotiation_gives_the_filter_of_the_provider(tmp_path: Path, call: str) -> None:
    with guarded(tmp_path, domain_filter=DomainFilter(include=("example.org",))) as guard:
        answer = guard.get(call, allow_redirects=False)

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, WEBHOOK_MEDIA_TYPE)
    assert answer.json() == {"include": ["example.org"]}


def test_records_are_those_of_the_provider_byte_for_byte(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=5)) as guard:
        answer = guard.get("/records", headers={"Accept-Encoding": "identity"})
        straight = requests.get(
            f"{guard.reference.url}/records", headers={"Accept": WEBHOOK_MEDIA_TYPE}, timeout=30
        )

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, WEBHOOK_MEDIA_TYPE)
    assert answer.content == straight.content


def test_records_are_compressed_where_the_instance_takes_that(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=100)) as guard:
        answer = guard.get("/records", headers={"Accept-Encoding": "gzip"}, stream=True)
        compressed = answer.raw.read(decode_content=False)

    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed) == encode_endpoints(make_zone(count=100))
    assert len(compressed) < len(gzip.decompress(compressed)) / 3


def test_desired_endpoints_come_back_as_the_provider_adjusts_them(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        answer = guard.adjust([make_record("www.example.org")])

    assert answer.status_code == 200
    assert answer.content == encode_endpoints([make_record("www.example.org")])


def test_a_change_set_in_a_dry_run_is_answered_as_applied_and_not_sent(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=2), mode=GuardEndpoint.Mode.DRY_RUN) as guard:
        before = guard.reference.zone_bytes()

        answer = guard.apply(create=(make_record("new.example.org"),))

        assert (answer.status_code, answer.content) == (204, b"")
        assert guard.reference.zone_bytes() == before


def test_a_paused_instance_is_answered_the_negotiation_alone(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=2), mode=PAUSED) as guard:
        answers = [guard.get("/records"), guard.adjust([]), guard.apply(create=(make_record(),))]
        negotiation = guard.get()

    assert [answer.status_code for answer in answers] == [503, 503, 503]
    assert "paused" in answers[0].text
    assert negotiation.status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nobody/records"),
        ("GET", "/nobody"),
        ("GET", "/"),
        ("PUT", "/blue/records"),
        ("GET", "/blue/x"),
    ],
)
def test_whatever_is_asked_amiss_does_not_end_the_instance(tmp_path: Path, method: str, path: str) -> None:
    with guarded(tmp_path) as guard:
        answer = requests.request(method, f"{guard.guard_url}{path}", timeout=30)

    assert answer.status_code == 503
    assert answer.text.strip()


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("/records", b'{"create": 1}'),
        ("/records", b"["),
        ("/adjustendpoints", b"{}"),
        ("/records", b" " * (2**20 + 1)),
    ],
)
def test_a_body_that_cannot_be_read_does_not_end_the_instance(tmp_path: Path, call: str, body: bytes) -> None:
    with guarded(tmp_path) as guard:
        answer = guard.post(call, body)

    assert answer.status_code == 503


def test_an_endpoint_that_cannot_be_read_comes_back_as_it_is(tmp_path: Path) -> None:
    poisoned = b'{"dnsName":"a\\u0000.example.org","recordType":"A","targets":["192.0.2.1"]}'
    with guarded(tmp_path) as guard:
        body = encode_endpoints([make_record()])
        answer = guard.post("/adjustendpoints", body[:-1] + b"," + poisoned + b"]")
        desired = guard.endpoint.desired_set

    assert answer.status_code == 200
    assert answer.content == body[:-1] + b"," + poisoned + b"]"
    assert (desired.endpoint_count, desired.set_aside) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        read_faults.status(500),
        read_faults.status(403),
        read_faults.empty_list(),
        read_faults.null(),
        read_faults.trailing_text(),
        read_faults.body(b"[]"),
    ],
    ids=lambda fault: fault.name,
)
def test_an_error_of_the_provider_is_never_an_empty_list(tmp_path: Path, fault: Fault) -> None:
    with guarded(tmp_path, make_zone(count=12)) as guard:
        guard.reference.faults.plan("GET /records", fault)
        answer = guard.get("/records")
        after = guard.read()

    assert answer.status_code == 503
    assert after == make_zone(count=12)


def test_records_that_are_larger_than_the_instance_takes_are_not_sent(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=12), max_body_bytes=100) as guard:
        answer = guard.get("/records")

    assert answer.status_code == 503
    assert "--webhook-provider-max-body-size" in answer.text


def test_without_the_right_credential_nothing_is_answered(tmp_path: Path) -> None:
    password_hash = compute_password_hash("right")
    with guarded(tmp_path, username="blue", password_hash=password_hash) as guard:
        answers = [
            guard.get("/records", auth=auth)
            for auth in (None, ("blue", "wrong"), ("green", "right"), ("blue", "right"))
        ]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 200]


def test_a_request_from_another_network_is_not_answered(tmp_path: Path) -> None:
    with guarded(tmp_path, networks=["192.0.2.0/24"]) as guard:
        answer = guard.get("/records")
        GuardEndpoint.objects.update(networks=["192.0.2.0/24", "127.0.0.0/8"])
        allowed = guard.get("/records")

    assert (answer.status_code, allowed.status_code) == (503, 200)
    assert "127.0.0.1" in answer.text


def test_a_provider_that_was_never_synced_is_asked_for_its_filter(tmp_path: Path) -> None:
    with guarded(tmp_path, domain_filter=DomainFilter(include=("example.org",))) as guard:
        Provider.objects.update(domain_filter={})
        answer = guard.get()

    assert answer.json() == {"include": ["example.org"]}


def test_its_health_needs_no_guard_endpoint(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        answers = [
            requests.request(method, f"{guard.guard_url}/healthz", timeout=30) for method in ("GET", "HEAD")
        ]

    assert [answer.status_code for answer in answers] == [200, 200]
