"""What happens is counted where it happens, and logged once, with the ids that lead on."""

import logging
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from dnsadmin.operations import OperationsApplication
from dnsadmin.wsgi import application as web
from registry_app.models import AuditEntry
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator
from tests.faults import read_faults
from tests.project.operations.scraping import TOKEN, Counted, Scrape, ask, served
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.serving import guarded
from tests.registry_app.reconcile.syncing import sync, sync_by_schedule
from tests.registry_app.transfer.world import approve, make_alice, make_bob, open_world, request, rewrite
from tests.registry_app.transfer.world import ask as ask_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> "Lines":
    caplog.set_level(logging.INFO)
    return Lines(caplog)


class Lines:
    """The structured lines of the log so far."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def of(self, event: str) -> list[dict[str, Any]]:
        """Those of an event, the first first."""
        told = [record.msg for record in self._caplog.records if isinstance(record.msg, dict)]
        return [line for line in told if line["event"] == event]


def test_syncs_are_counted_and_those_that_found_something_logged(lines: Lines) -> None:
    counted = Counted()
    with open_world() as world:
        sync_by_schedule(world.provider)
        sync_by_schedule(world.provider)
        rewrite(world, "app-00000.example.org", "A", "192.0.2.77")
        changed = sync(world.provider)
        world.reference.faults.plan("GET /records", read_faults.status(502), times=5)
        failed = sync(world.provider)

    told = lines.of("sync.stored")[-1]
    assert counted("dnsadmin_syncs_total", provider="blue-zone", result="unchanged") == 2
    assert counted("dnsadmin_syncs_total", provider="blue-zone", result="stored") == 2  # the first sync too
    assert counted("dnsadmin_syncs_total", provider="blue-zone", result="failed") == 1
    assert counted("dnsadmin_sync_duration_seconds_count", provider="blue-zone") == 5
    assert (told["sync"], told["provider"], told["changed"]) == (changed.pk, "blue-zone", 1)
    assert lines.of("sync.unchanged") == []
    (trouble,) = lines.of("sync.failed")
    assert (trouble["sync"], trouble["error_code"], trouble["level"]) == (
        failed.pk,
        failed.error_code,
        "warning",
    )
    assert lines.of("snapshot.stored") == []


def test_each_status_of_a_transfer_is_counted_and_logged_with_its_audit_entry(lines: Lines) -> None:
    counted = Counted()
    with open_world(approval_policy="other_person"):
        transfer = request(make_alice(), ask_for())
        approve(make_bob(), transfer)
        run_transfer(transfer.pk)

    statuses = ("approved", "sending", "verified")
    assert [counted("dnsadmin_transfer_changes_total", status=each) for each in statuses] == [1, 1, 1]
    for status in ("requested", *statuses):
        (told,) = lines.of(f"transfer.{status}")
        entry = AuditEntry.objects.get(action=f"transfer.{status}")
        assert (told["audit_entry"], told["actor"], told["object_id"]) == (
            entry.sequence,
            entry.actor_name,
            str(transfer.pk),
        )


def test_what_the_guard_answers_decides_and_sends_is_counted_and_logged(tmp_path: Path, lines: Lines) -> None:
    counted = Counted()
    foreign = [make_record("green.example.org"), make_claim("green.example.org", "A", "green-cluster")]
    mine = (make_record("mine.example.org", ttl=0), make_claim("mine.example.org", "A", "blue-cluster"))
    with guarded(tmp_path, foreign, mode="enforce") as guard:
        guard.get()
        guard.get("/records")
        guard.apply(create=mine, delete=tuple(foreign))
        guard.post("/records", b"nonsense")

    assert counted("dnsadmin_guard_requests_total", call="negotiate", status="200") == 1
    assert counted("dnsadmin_guard_requests_total", call="records", status="200") == 1
    assert counted("dnsadmin_guard_requests_total", call="changes", status="503") == 1
    assert counted("dnsadmin_guard_request_duration_seconds_count", call="changes") == 2
    (decided,) = lines.of("guard.decided")
    assert (decided["outcome"], decided["names"]) == ("refused", 1)
    (rule,) = decided["rules"]
    assert counted("dnsadmin_guard_decisions_total", outcome="refused", rule=rule) == 1
    (sent,) = lines.of("guard.sent")
    assert (sent["is_verified"], sent["changes"]) == (True, 2)
    assert counted("dnsadmin_guard_changes_sent_total") == 2
    assert {(each["call"], each["status"]) for each in lines.of("guard.request")} >= {("records", 200)}


def test_each_request_is_logged_with_the_id_that_the_audit_trail_has(
    lines: Lines, settings: Settings
) -> None:
    settings.DNSADMIN_METRICS_TOKEN = TOKEN
    counted = Counted()
    root = make_administrator()
    client = Client()
    client.force_login(root)

    made = client.post("/api/v1/clusters/", {"name": "blue"}, "application/json")
    again = client.post("/api/v1/clusters/", {"name": "blue"}, "application/json")
    client.get("/admin/registry_app/cluster/999/change/?q=in-the-query")

    entry = AuditEntry.objects.get(action__startswith="cluster.")
    first, second, third = lines.of("request")
    assert (made.status_code, first["status"], first["path"]) == (201, 201, "/api/v1/clusters/")
    assert (first["request_id"], first["user"]) == (entry.request_id, "root")
    assert lines.of(entry.action)[0]["request_id"] == entry.request_id
    assert (second["status"], second["error_code"]) == (again.status_code, again.json()["code"])
    assert third["status"] in (302, 404)
    assert "in-the-query" not in str([first, second, third])
    assert first["seconds"] >= 0
    assert counted("dnsadmin_http_requests_total", area="api", method="POST", status="201") == 1
    assert counted("dnsadmin_http_request_duration_seconds_count", area="api") == 2


def test_what_is_not_there_is_one_line_and_probes_are_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with served(web) as url:
        ask(f"{url}/nothing")
        ask(f"{url}/readyz")

    assert [record.name for record in caplog.records] == ["dnsadmin.request_log"]


def test_all_that_is_counted_is_in_a_scrape(settings: Settings) -> None:
    settings.DNSADMIN_METRICS_TOKEN = TOKEN
    with open_world() as world, served(OperationsApplication(has_state=True)) as url:
        sync(world.provider)
        scrape = Scrape(url)

    assert (scrape.value("dnsadmin_sync_response_bytes", provider="blue-zone") or 0) > 100
    assert scrape.value("dnsadmin_provider_up", provider="blue-zone") == 1
    assert "example.org" not in scrape.text
