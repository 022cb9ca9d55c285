"""A server says what it did not do: in its log, in its metrics, and to the client without ending it."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
import requests

from providers.backends.memory import MemoryBackend
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.servers.operations_application import OperationsApplication, RequestMetrics
from providers.servers.provider_application import WebhookApplication
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from tests.providers.servers.calls import ACCEPT, CONTENT, fetch_records, post_body, post_changes
from tests.providers.servers.serving import serve
from tests.reference_server import make_claim, make_record

BAD = make_record("bad.example.org", targets=("not an address",))


def test_each_change_that_was_left_out_is_logged_and_counted_by_its_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    metrics = RequestMetrics()
    application = WebhookApplication(ZoneFileBackend(tmp_path), refusal_observers=(metrics,))

    with (
        caplog.at_level(logging.WARNING),
        serve(application) as server,
        serve(OperationsApplication(metrics)) as operations,
    ):
        answer = post_changes(
            server.url, ChangeSet(create=(BAD, make_claim("bad.example.org"), make_record()))
        )
        requests.post(
            f"{server.url}/adjustendpoints", encode_endpoints([BAD]), headers=ACCEPT | CONTENT, timeout=20
        )
        post_body(server.url, b"no change set\n2026-01-01 ERROR forged")
        text = requests.get(f"{operations.url}/metrics", timeout=20).text

    lines = [record.getMessage() for record in caplog.records]
    assert answer.status_code == 500
    assert any(
        "A bad.example.org (cannot_hold): " in line and "cannot be written into a zone" in line
        for line in lines
    )
    assert any("TXT a-bad.example.org (belongs_together)" in line for line in lines)
    assert any("Cannot hold what is wanted: A bad.example.org" in line for line in lines)
    assert any("Refused POST /records with 500" in line for line in lines)
    assert any("Refused POST /records with 400" in line for line in lines)
    assert not any("\n" in line for line in lines)
    assert 'dnsadmin_provider_left_out_total{kind="change",reason="cannot_hold"} 1.0' in text
    assert 'dnsadmin_provider_left_out_total{kind="change",reason="belongs_together"} 1.0' in text
    assert 'dnsadmin_provider_left_out_total{kind="endpoint",reason="cannot_hold"} 1.0' in text


class _BrokenBackend(MemoryBackend):
    def records(self) -> Sequence[Endpoint]:
        raise RuntimeError("nobody foresaw this")


def test_an_error_that_nobody_foresaw_is_500_and_not_a_broken_connection() -> None:
    with serve(WebhookApplication(_BrokenBackend())) as server:
        answer = fetch_records(server.url)

    assert answer.status_code == 500
    assert "nobody foresaw" not in answer.text
