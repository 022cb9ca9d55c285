"""The table of the first texts, from the client: methods, routes, headers, and what is success."""

from collections.abc import Callable

import pytest

from providers.client.protocol_clients import PluginClient, WebhookClient
from providers.http.bounded_http import Limits
from providers.http.errors import FailedAtProvider, ProviderError, UnwelcomeStatus
from tests.providers.client.making import LOOPBACK, PATIENT, are_equal
from tests.providers.client.raw_server import answer, raw_server
from tests.reference_server import make_record

Client = WebhookClient | PluginClient
WEBHOOK, PLUGIN = (
    f"application/external.dns.{protocol}+json;version=1" for protocol in ("webhook", "plugin")
)
BOTH = pytest.mark.parametrize("client_type", [WebhookClient, PluginClient])


def make(client_type: type[Client], url: str, limits: Limits = PATIENT) -> Client:
    return client_type(url, policy=LOOPBACK, limits=limits)


CALLS: dict[str, tuple[Callable[[Client], object], str, set[str]]] = {
    "negotiate": (lambda client: client.negotiate(), "GET /", {"Accept"}),
    "Records": (lambda client: client.records(), "GET /records", {"Accept"}),
    "AdjustEndpoints": (
        lambda client: client.adjust_endpoints([make_record()]),
        "POST /adjustendpoints",
        {"Accept", "Content-Type"},
    ),
    "ApplyChanges": (lambda client: client.apply_changes(b"{}"), "POST /records", {"Content-Type"}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("client_type", "media_type"), [(WebhookClient, WEBHOOK), (PluginClient, PLUGIN)])
def test_every_call_has_the_method_and_the_route_of_the_table(
    client_type: type[Client], media_type: str, name: str
) -> None:
    call, line, headers = CALLS[name]
    body = b"[]" if name != "negotiate" else b"{}"
    with raw_server(answer(body, "Vary: Content-Type", content_type=media_type)) as server:
        call(make(client_type, server.url))

    head = server.requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    sent = {line.partition(": ")[0] for line in head[1:] if line.endswith(f": {media_type}")}
    assert head[0] == f"{line} HTTP/1.1"
    assert sent == headers


def test_the_plugin_protocol_asks_about_properties_by_a_route_of_its_own() -> None:
    with raw_server(answer(b'{"equals":true}', content_type=PLUGIN)) as server:
        are_equal(PluginClient(server.url, policy=LOOPBACK, limits=PATIENT), "alias", "1", "2")

    assert server.requests[0].startswith(b"POST /propertyvaluesequal HTTP/1.1\r\n")


@BOTH
@pytest.mark.parametrize("status", ["201 Created", "202 Accepted", "204 No Content", "206 Partial Content"])
def test_records_come_with_200_alone(client_type: type[Client], status: str) -> None:
    with raw_server(answer(b"" if status.startswith("204") else b"[]", status=status)) as server:
        with pytest.raises(UnwelcomeStatus):
            make(client_type, server.url).records()

        assert server.connections == 1


@pytest.mark.parametrize(
    "status", ["300 Choices", "307 Elsewhere", "400 No", "404 No", "408 Late", "429 Slow"]
)
def test_the_plugin_protocol_asks_again_after_no_status_below_500(status: str) -> None:
    with raw_server(answer(b"", status=status)) as server:
        with pytest.raises(ProviderError):
            make(PluginClient, server.url).records()

        assert server.connections == 1


@pytest.mark.parametrize("status", ["500 Oh", "502 Oh", "510 Oh"])
def test_the_plugin_protocol_asks_again_after_5xx(status: str) -> None:
    with raw_server(answer(b"", status=status)) as server:
        with pytest.raises(FailedAtProvider):
            make(PluginClient, server.url).records()

        assert server.connections == 3
