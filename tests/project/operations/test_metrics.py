"""`/metrics`: for whom, and what is true of the installation."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from dnsadmin.celery import app
from dnsadmin.guard import build_application
from dnsadmin.operations import OperationsApplication, serve_operations
from registry_app import metrics
from registry_app.guard.negotiation import NegotiationCopies
from registry_app.models import Finding, HeldDelete, Owner, Provider, SyncRun
from registry_app.queries.heartbeat import note_heartbeat
from registry_app.queries.invariants import check_quick_invariants
from tests.factories import (
    make_finding,
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_provider,
    make_record_set,
)
from tests.project.operations.scraping import TOKEN, Scrape, ask, served
from tests.registry_app.transfer.world import approve, make_alice, make_bob, open_world, request
from tests.registry_app.transfer.world import ask as ask_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    settings.DNSADMIN_METRICS_TOKEN = TOKEN
    with served(OperationsApplication(has_state=True)) as url:
        yield url


def test_they_are_off_until_there_is_a_token_and_then_for_who_has_it(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copies = NegotiationCopies(tmp_path_factory.mktemp("guard") / "copies.json")
    with served(build_application(copies, most_body_bytes=1024)) as url:
        off = ask(f"{url}/metrics")
        settings.DNSADMIN_METRICS_TOKEN = TOKEN
        without = ask(f"{url}/metrics")
        wrong = ask(f"{url}/metrics", Authorization=f"Bearer {TOKEN}x")
        right = ask(f"{url}/metrics", Authorization=f"Bearer {TOKEN}")

    assert [each.status_code for each in (off, without, wrong, right)] == [403, 401, 401, 200]
    assert "DNSADMIN_METRICS_TOKEN" in off.text
    assert without.headers["WWW-Authenticate"].startswith("Bearer")
    assert TOKEN not in f"{off.text}{without.text}{wrong.text}{right.text}"


def test_a_port_of_its_own_needs_no_token_unless_there_is_one(settings: Settings) -> None:
    server = serve_operations("127.0.0.1", 0, OperationsApplication(is_private=True))
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        answers = [ask(f"{url}{path}") for path in ("/healthz", "/readyz", "/metrics", "/else")]
        settings.DNSADMIN_METRICS_TOKEN = TOKEN
        protected = ask(f"{url}/metrics")
    finally:
        server.shutdown()
        server.server_close()

    assert [each.status_code for each in answers] == [200, 200, 200, 404]
    assert protected.status_code == 401


def test_each_provider_shows_how_fresh_its_mirror_is(url: str) -> None:
    now = timezone.now()
    seen = {"accepted_at": now - timedelta(seconds=900), "last_sync_at": now - timedelta(seconds=60)}
    make_provider("blue-zone", status="held", record_set_count=12, claim_count=7, **seen)
    make_provider("green-zone", status="failing", interval_seconds=30)
    make_provider("parked-zone", is_enabled=False)

    scrape = Scrape(url)

    assert 900 <= (scrape.value("dnsadmin_provider_mirror_age_seconds", provider="blue-zone") or 0) < 960
    assert 60 <= (scrape.value("dnsadmin_provider_sync_age_seconds", provider="blue-zone") or 0) < 120
    assert scrape.value("dnsadmin_provider_sync_interval_seconds", provider="green-zone") == 30
    assert scrape.value("dnsadmin_provider_record_sets", provider="blue-zone") == 12
    assert scrape.value("dnsadmin_provider_claims", provider="blue-zone") == 7
    assert scrape.value("dnsadmin_provider_snapshot_held", provider="blue-zone") == 1
    up = {
        dict(labels)["provider"]: value for labels, value in scrape.labelled("dnsadmin_provider_up").items()
    }
    assert up == {"blue-zone": 1, "green-zone": 0, "parked-zone": 0}
    assert scrape.value("dnsadmin_provider_sync_age_seconds", provider="parked-zone") is None


def test_what_waits_and_what_is_wrong_is_counted(url: str) -> None:
    with open_world(approval_policy="other_person") as world:
        waiting = request(make_alice(), ask_for())
        type(waiting).objects.update(created_at=timezone.now() - timedelta(hours=2))
        make_record_set(world.provider, "nobody.example.org")
        make_finding(severity=Finding.Severity.CRITICAL, kind=Finding.Kind.SNAPSHOT_HELD)
        make_finding(state=Finding.State.RESOLVED)
        instance = make_instance(Owner.objects.get(owner_id="blue-cluster"), "behind the guard")
        held = make_held_delete(make_guard_endpoint(instance, world.provider))
        HeldDelete.objects.filter(pk=held.pk).update(asked_at=timezone.now() - timedelta(hours=1))
        Provider.objects.update(next_sync_at=timezone.now() - timedelta(seconds=300))

        before = Scrape(url)
        approve(make_bob(), waiting)

    with served(OperationsApplication(has_state=True)) as other:
        after = Scrape(other)
    assert before.value("dnsadmin_transfers", status="requested") == 1
    assert 7200 <= (before.value("dnsadmin_transfer_oldest_waiting_seconds") or 0) < 7300
    assert before.value("dnsadmin_transfer_oldest_unfinished_seconds") == 0
    assert before.value("dnsadmin_findings", kind="snapshot_held", severity="critical") == 1
    assert not any(("kind", "conflict") in labels for labels in before.labelled("dnsadmin_findings"))
    assert (before.value("dnsadmin_record_sets", state="unmanaged") or 0) >= 1
    assert before.value("dnsadmin_held_deletes") == 1
    assert 3600 <= (before.value("dnsadmin_held_delete_oldest_seconds") or 0) < 3700
    assert before.value("dnsadmin_syncs_due") == 1
    assert 300 <= (before.value("dnsadmin_sync_queue_lag_seconds") or 0) < 360
    assert after.value("dnsadmin_transfers", status="requested") == 0
    assert after.value("dnsadmin_transfers", status="approved") == 1
    assert after.value("dnsadmin_transfer_oldest_waiting_seconds") == 0


def test_the_queue_the_heartbeats_and_the_invariants_are_there(url: str) -> None:
    cache.clear()
    metrics_before = Scrape(url).labelled("dnsadmin_heartbeat_age_seconds")
    note_heartbeat("worker")
    SyncRun.objects.create(
        provider=make_provider(),
        epoch=1,
        status=SyncRun.Status.RUNNING,
        started_at=timezone.now() - timedelta(days=1),
    )
    check_quick_invariants()

    with served(OperationsApplication(has_state=True)) as other, app.connection_for_write() as connection:
        queue = connection.SimpleQueue("celery")
        queue.clear()
        queue.put({})
        scrape = Scrape(other)
        queue.clear()

    assert metrics_before == {}
    assert (scrape.value("dnsadmin_heartbeat_age_seconds", role="worker") or 0) < 60
    assert scrape.value("dnsadmin_heartbeat_age_seconds", role="beat") is None
    assert scrape.value("dnsadmin_broker_up") == 1
    assert scrape.value("dnsadmin_broker_queue_tasks") == 1
    assert scrape.value("dnsadmin_invariant_violations", invariant="I7") == 1
    assert scrape.value("dnsadmin_invariant_violations", invariant="I1") == 0
    assert (scrape.value("dnsadmin_invariant_check_age_seconds", invariant="I1") or 0) < 60


def test_without_a_broker_the_rest_is_there(url: str, settings: Settings) -> None:
    make_provider()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    scrape = Scrape(url)

    assert (scrape.value("dnsadmin_broker_up"), scrape.value("dnsadmin_database_up")) == (0, 1)
    assert scrape.value("dnsadmin_provider_up", provider="blue-zone") == 0
    assert scrape.value("dnsadmin_broker_queue_tasks") is None


def test_without_a_database_the_broker_is_there(url: str) -> None:
    name = connections.settings["default"]["NAME"]
    connections.settings["default"]["NAME"] = "/nowhere/nothing"
    try:
        scrape = Scrape(url)
    finally:
        connections.settings["default"]["NAME"] = name

    assert (scrape.value("dnsadmin_broker_up"), scrape.value("dnsadmin_database_up")) == (1, 0)
    assert scrape.value("dnsadmin_syncs_due") is None


def test_the_labels_of_providers_are_bounded() -> None:
    names = [f"zone-{number}" for number in range(metrics.MOST_PROVIDERS + 10)]

    labels = {metrics.label_provider(name) for name in names}

    assert len(labels) <= metrics.MOST_PROVIDERS + 1
    assert metrics.OTHER_PROVIDERS in labels
