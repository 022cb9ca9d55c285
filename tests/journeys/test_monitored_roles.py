"""Each role of a running installation answers probes and a monitoring system, and its log tells the story."""

import json
from collections.abc import Mapping

import pytest

from tests.journeys.running import RunningDnsadmin
from tests.project.operations.scraping import TOKEN, Scrape, ask
from tests.waiting import wait_until


def _list_urls(dnsadmin: RunningDnsadmin) -> Mapping[str, str]:
    worker, beat = (dnsadmin.environment[f"DNSADMIN_{role}_OPERATIONS_PORT"] for role in ("WORKER", "BEAT"))
    return {
        "web": dnsadmin.url.rstrip("/"),
        "guard": dnsadmin.guard_url,
        "worker": f"http://127.0.0.1:{worker}",
        "beat": f"http://127.0.0.1:{beat}",
    }


@pytest.mark.parametrize("role", ["web", "guard", "worker", "beat"])
def test_a_role_is_alive_and_ready_and_shows_metrics_to_who_has_the_token(
    dnsadmin: RunningDnsadmin, role: str
) -> None:
    url = _list_urls(dnsadmin)[role]

    alive, ready, without = (ask(f"{url}{path}") for path in ("/healthz", "/readyz", "/metrics"))

    assert (alive.status_code, ready.status_code, without.status_code) == (200, 200, 401)
    assert ready.json()["status"] == "ready"
    assert Scrape(url).text.startswith("# HELP dnsadmin_")


def test_the_processes_of_a_worker_count_together_and_the_web_shows_the_state(
    dnsadmin: RunningDnsadmin,
) -> None:
    urls = _list_urls(dnsadmin)
    providers = {"public-dns", "legacy-dns", "edge-dns"}

    counted = Scrape(urls["worker"])
    state = wait_until(lambda: _with_heartbeats(urls["web"]), "the heartbeats of worker and scheduler")

    first = {dict(labels)["provider"] for labels in counted.labelled("dnsadmin_syncs_total")}
    assert providers <= first
    for name in providers:
        assert (counted.value("dnsadmin_sync_duration_seconds_count", provider=name) or 0) >= 1
        assert (counted.value("dnsadmin_sync_response_bytes", provider=name) or 0) > 1000
        assert state.value("dnsadmin_provider_up", provider=name) == 1
        assert (state.value("dnsadmin_provider_record_sets", provider=name) or 0) > 100
    assert state.value("dnsadmin_broker_up") == 1
    assert counted.value("dnsadmin_broker_up") is None


def test_any_process_of_the_web_role_answers_for_all(dnsadmin: RunningDnsadmin) -> None:
    url = dnsadmin.url.rstrip("/")
    labels = {"area": "other", "method": "GET", "status": "404"}
    before = Scrape(url).value("dnsadmin_http_requests_total", **labels) or 0

    for number in range(20):
        ask(f"{url}/nothing-{number}")

    counts = {Scrape(url).value("dnsadmin_http_requests_total", **labels) for _ in range(10)}
    assert counts == {before + 20}


def test_the_logs_tell_of_syncs_and_requests_in_json_and_of_no_secret(dnsadmin: RunningDnsadmin) -> None:
    logs = {
        role: (dnsadmin.state_dir / "logs" / f"{role}.log").read_text()
        for role in ("web", "worker", "beat", "guard")
    }
    told = {
        role: [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        for role, text in logs.items()
    }

    stored = {line["provider"] for line in told["worker"] if line["event"] == "sync.stored"}
    assert {"public-dns", "legacy-dns", "edge-dns"} <= stored
    requests = [line for line in told["web"] if line["event"] == "request"]
    assert all(line["request_id"] and line["seconds"] >= 0 and "?" not in line["path"] for line in requests)
    issued = next(line for line in told["web"] if line["event"] == "token.issued")
    assert any(line["request_id"] == issued["request_id"] and line["status"] == 201 for line in requests)
    for secret in (TOKEN, dnsadmin.token, dnsadmin.password):
        assert not any(secret in text for text in logs.values())


def _with_heartbeats(url: str) -> Scrape | None:
    scrape = Scrape(url)
    ages = [scrape.value("dnsadmin_heartbeat_age_seconds", role=role) for role in ("worker", "beat")]
    return scrape if all(age is not None and age < 30 for age in ages) else None
