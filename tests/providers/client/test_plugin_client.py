"""The plugin protocol as a client: what counts as success, what is asked again, and what we say ourselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from providers.client.protocol_clients import PluginClient
from providers.http.bounded_http import Limits
from providers.http.errors import (
    FailedAtProvider,
    NotAProvider,
    NothingSent,
    OutcomeUnknown,
    RefusedByProvider,
    UnwelcomeStatus,
)
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import PLUGIN_MEDIA_TYPE, decode_endpoints_strict, encode_change_set
from tests.faults import read_faults, write_faults
from tests.providers.client.making import LOOPBACK, PATIENT, are_equal
from tests.providers.client.raw_server import answer, raw_server
from tests.reference_server import ReferenceProvider, make_record, make_zone
from tests.servers.provider_server import PluginServer

WWW = make_record("www.example.org")


@contextmanager
def _plugin(zone: list[Endpoint] | None = None) -> Iterator[ReferenceProvider]:
    with ReferenceProvider(zone or [], server_type=PluginServer) as provider:
        yield provider


def _client(url: str, limits: Limits = PATIENT) -> PluginClient:
    return PluginClient(url, policy=LOOPBACK, limits=limits)


def test_it_negotiates_and_everything_matches() -> None:
    with _plugin() as provider:
        parsed = _client(provider.url).negotiate()

        (request,) = provider.history.requests("GET /")
    assert parsed.filter.matches_everything
    assert request.headers["accept"] == PLUGIN_MEDIA_TYPE


def test_a_webhook_server_is_not_taken_for_a_plugin() -> None:
    with ReferenceProvider() as provider, pytest.raises((NotAProvider, RefusedByProvider)):
        _client(provider.url).negotiate()


@pytest.mark.parametrize("status", ["201 Created", "204 No Content", "206 Partial Content", "404 Not Found"])
def test_negotiation_succeeds_with_200_alone(status: str) -> None:
    said = answer(b"", "Vary: Content-Type", status=status, content_type=PLUGIN_MEDIA_TYPE)
    with raw_server(said) as server, pytest.raises(UnwelcomeStatus):
        _client(server.url).negotiate()


@pytest.mark.parametrize("headers", [(), ("Vary: Accept",), ("Vary: Accept-Content-Type",)])
def test_an_answer_that_does_not_vary_by_its_content_type_negotiated_nothing(
    headers: tuple[str, ...],
) -> None:
    said = answer(b"", *headers, content_type=PLUGIN_MEDIA_TYPE)
    with raw_server(said) as server, pytest.raises(NotAProvider, match="Vary"):
        _client(server.url).negotiate()


def test_it_may_vary_by_more_in_any_spelling() -> None:
    said = answer(b"", "Vary: Accept, content-type", content_type=PLUGIN_MEDIA_TYPE)
    with raw_server(said) as server:
        parsed = _client(server.url).negotiate()

    assert parsed.filter.matches_everything


def test_it_reads_all_records() -> None:
    zone = make_zone(count=5)
    with _plugin(zone) as provider:
        said = _client(provider.url).records()

    assert decode_endpoints_strict(said.body, max_items=100) == tuple(zone)
    assert said.content_type == PLUGIN_MEDIA_TYPE


def test_it_applies_changes() -> None:
    with _plugin() as provider:
        _client(provider.url).apply_changes(encode_change_set(ChangeSet(create=(WWW,))))

        assert provider.endpoints() == (WWW,)


@pytest.mark.parametrize("status", ["200 OK", "204 No Content"])
def test_servers_of_that_time_say_success_in_two_ways(status: str) -> None:
    with raw_server(answer(b"", status=status)) as server:
        _client(server.url).apply_changes(b"{}")

    assert len(server.requests) == 1


@pytest.mark.parametrize("status", ["201 Created", "202 Accepted", "400 Bad Request", "500 No"])
def test_any_other_answer_to_a_change_set_is_an_unknown_outcome_and_is_not_asked_again(status: str) -> None:
    with raw_server(answer(b"", status=status)) as server:
        with pytest.raises(OutcomeUnknown):
            _client(server.url).apply_changes(b"{}")

        assert len(server.requests) == 1


def test_a_change_set_that_met_nobody_was_not_sent() -> None:
    with _plugin() as provider:
        url = provider.url

    with pytest.raises(NothingSent):
        _client(url).apply_changes(b"{}")


def test_a_read_that_failed_on_the_other_side_is_asked_again() -> None:
    with _plugin([WWW]) as provider:
        provider.faults.plan("GET /records", read_faults.status(503))
        provider.faults.plan("GET /records", read_faults.status(500))

        said = _client(provider.url).records()

        assert len(provider.history.requests("GET /records")) == 3
    assert b"www.example.org" in said.body


def test_it_is_not_asked_for_ever() -> None:
    with _plugin([WWW]) as provider:
        for _ in range(10):
            provider.faults.plan("GET /records", read_faults.status(503))

        with pytest.raises(FailedAtProvider):
            _client(provider.url).records()

        assert len(provider.history.requests("GET /records")) == 3


def test_all_tries_share_one_deadline() -> None:
    with _plugin([WWW]) as provider:
        for _ in range(10):
            provider.faults.plan("GET /records", read_faults.status(503))

        with pytest.raises(FailedAtProvider):
            _client(provider.url, Limits(seconds=0.15)).records()

        assert len(provider.history.requests("GET /records")) == 1


def test_a_refusal_is_not_asked_again() -> None:
    with _plugin([WWW]) as provider:
        provider.faults.plan("GET /records", read_faults.status(404))

        with pytest.raises(RefusedByProvider):
            _client(provider.url).records()

        assert len(provider.history.requests("GET /records")) == 1


def test_endpoints_that_nobody_adjusts_stay_as_they_are() -> None:
    with _plugin() as provider:
        adjusted = _client(provider.url).adjust_endpoints([WWW])
        provider.faults.plan("POST /adjustendpoints", read_faults.status(404))
        refused = _client(provider.url).adjust_endpoints([WWW])
        url = provider.url
    unreachable = _client(url).adjust_endpoints([WWW])

    assert adjusted == refused == unreachable == (WWW,)


def test_equality_of_properties_is_the_providers_word_where_it_has_one() -> None:
    with raw_server(answer(b'{"equals":true}')) as server:
        equals = are_equal(_client(server.url), "aws/weight", "10", "010")

    body = server.requests[0].partition(b"\r\n\r\n")[2]
    assert equals
    assert msgspec.json.decode(body) == {"name": "aws/weight", "previous": "10", "current": "010"}


@pytest.mark.parametrize("said", [b"{}", b"[]", b"yes", b'{"equals":"true"}'])
def test_without_a_word_that_can_be_read_equal_is_the_same_text(said: bytes) -> None:
    with raw_server(answer(said)) as server:
        client = _client(server.url)

        assert are_equal(client, "alias", "true", "true")
    with raw_server(answer(said)) as server:
        assert not are_equal(_client(server.url), "alias", "true", "false")


def test_it_asks_a_real_server_about_properties() -> None:
    with _plugin() as provider:
        client = _client(provider.url)

        assert are_equal(client, "alias", "true", "true")
        assert not are_equal(client, "alias", "true", "false")


def test_a_closed_client_speaks_no_more() -> None:
    with _plugin() as provider:
        with _client(provider.url) as client:
            client.negotiate()

        with pytest.raises(RuntimeError, match="closed"):
            client.records()


def test_an_answer_that_breaks_off_is_not_taken_for_a_refusal() -> None:
    with _plugin([WWW]) as provider:
        provider.faults.plan("POST /records", write_faults.applied_then_reset())

        with pytest.raises(OutcomeUnknown):
            _client(provider.url).apply_changes(encode_change_set(ChangeSet(delete=(WWW,))))

        assert provider.endpoints() == ()
