"""`/healthz` and `/metrics` on a port of their own."""

from collections.abc import Iterator

import pytest
import requests

from providers.backends.memory import MemoryBackend
from providers.servers.granian_server import GranianServer
from providers.servers.operations_application import OperationsApplication, RequestMetrics
from providers.servers.provider_application import WebhookApplication
from providers.wire.change_set import ChangeSet
from tests.providers.servers.calls import fetch_records, post_changes
from tests.providers.servers.serving import serve
from tests.reference_server import make_record


@pytest.fixture
def servers() -> Iterator[tuple[GranianServer, GranianServer]]:
    metrics = RequestMetrics()
    application = WebhookApplication(MemoryBackend([make_record()]), observers=(metrics,))
    with serve(application) as webhook, serve(OperationsApplication(metrics)) as operations:
        yield webhook, operations


def test_healthz_says_ok(servers: tuple[GranianServer, GranianServer]) -> None:
    answer = requests.get(f"{servers[1].url}/healthz", timeout=5)

    assert (answer.status_code, answer.text) == (200, "ok\n")


def test_metrics_count_requests_by_route_method_and_status(
    servers: tuple[GranianServer, GranianServer],
) -> None:
    webhook, operations = servers
    fetch_records(webhook.url)
    fetch_records(webhook.url)
    post_changes(webhook.url, ChangeSet(create=(make_record(),)))
    requests.request("BREW", f"{webhook.url}/pot/secret.example.org", timeout=5)

    text = requests.get(f"{operations.url}/metrics", timeout=5).text

    prefix = "dnsadmin_provider_requests_total"
    assert f'{prefix}{{method="GET",route="records",status="200"}} 2.0' in text
    assert f'{prefix}{{method="POST",route="records",status="500"}} 1.0' in text
    assert f'{prefix}{{method="other",route="other",status="404"}} 1.0' in text
    assert 'dnsadmin_provider_request_seconds_count{route="records"} 3.0' in text
    assert "example.org" not in text


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/records", 404), ("POST", "/healthz", 400)])
def test_nothing_else_is_there(
    servers: tuple[GranianServer, GranianServer], method: str, path: str, status: int
) -> None:
    answer = requests.request(method, servers[1].url + path, timeout=5)

    assert answer.status_code == status


def test_each_server_counts_for_itself() -> None:
    one, two = RequestMetrics(), RequestMetrics()

    assert one.registry is not two.registry
