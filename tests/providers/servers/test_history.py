"""Every request a server was asked, kept for tests."""

import pytest

from providers.servers.wsgi_application import Request
from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_change_set
from tests.faults.history import History
from tests.providers.servers.calls import MEDIA_TYPE, fetch_records, post_body
from tests.reference_server import ReferenceProvider, make_record


def test_it_keeps_method_path_headers_body_and_status() -> None:
    body = encode_change_set(ChangeSet(create=(make_record(),)))
    with ReferenceProvider() as provider:
        fetch_records(provider.url)
        post_body(provider.url, body)
        post_body(provider.url, body)

        provider.history.wait_for("POST /records", 2)
        past = provider.history.requests()

    assert [(each.method, each.path, each.status) for each in past] == [
        ("GET", "/records", 200),
        ("POST", "/records", 204),
        ("POST", "/records", 500),
    ]
    assert past[1].body == body
    assert past[1].headers["content-type"] == MEDIA_TYPE
    assert [each.number for each in past] == sorted(each.number for each in past)


def test_a_request_under_way_has_no_status() -> None:
    history = History()
    request = Request("GET", "/records", {})

    history.arrived(1, request)

    assert history.requests("GET /records")[0].status is None


def test_only_so_many_requests_are_kept() -> None:
    history = History(most_requests=3)

    for number in range(5):
        history.arrived(number, Request("GET", "/", {}))
        history.answered(number, 200, 0.0)

    assert [each.number for each in history.requests()] == [2, 3, 4]


def test_only_so_many_bytes_are_kept_but_always_the_last_request() -> None:
    history = History(most_bytes=10)

    for number in range(3):
        history.arrived(number, Request("POST", "/records", {}, b"x" * 20))

    assert [each.number for each in history.requests()] == [2]


def test_waiting_for_a_request_that_does_not_come_ends() -> None:
    with pytest.raises(TimeoutError, match="0 of 1 requests GET /records"):
        History().wait_for("GET /records", 1, seconds=0.01)


def test_it_can_forget() -> None:
    history = History()
    history.arrived(1, Request("GET", "/", {}))

    history.clear()

    assert history.requests() == ()
