"""The first page: how to begin, or what needs attention first."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from registry_app.admin.wording import format_due
from registry_app.models import HeldSnapshot, OwnershipState, Provider
from registry_app.queries.heartbeat import note_heartbeat
from registry_app.queries.provider import describe_freshness
from tests.factories import make_administrator, make_finding, make_owner, make_record_set, make_user
from tests.registry_app.admin.world import (
    address,
    make_claimed,
    make_fresh_provider,
    make_transfer,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


def test_without_a_provider_it_shows_three_steps_to_the_first() -> None:
    page = read_text(sign_in(make_administrator()).get(reverse("admin:index")))

    assert page.count("<li><strong>") == 3
    assert address("provider_register") in page


def test_who_may_not_register_is_told_who_may() -> None:
    page = read_text(sign_in(make_user("dora")).get(reverse("admin:index")))

    assert "Ask an administrator to register it." in page
    assert address("provider_register") not in page


def test_what_needs_attention_comes_first_each_with_its_link() -> None:
    now = timezone.now()
    held = make_fresh_provider("held-zone", status=Provider.Status.HELD)
    snapshot = HeldSnapshot.objects.create(provider=held, body=b"", created_at=now, last_seen_at=now)
    failing = make_fresh_provider("failing-zone", status=Provider.Status.FAILING, last_error_code="timed_out")
    transfer = make_transfer(held, make_owner(), make_owner("green-cluster"), status="needs_operator")
    make_finding(provider=held, severity=30)

    page = read_text(sign_in(make_administrator()).get(reverse("admin:index")))

    for url in (
        address("heldsnapshot_change", snapshot.pk),
        address("provider_change", failing.pk),
        address("transfer_change", transfer.pk),
        f"{address('finding_changelist')}?kind=conflict",
    ):
        assert url in page


def test_record_sets_are_counted_by_state() -> None:
    provider = make_fresh_provider(record_set_count=4)
    make_claimed(provider, make_owner(), "a.example.org")
    make_claimed(provider, make_owner("green-cluster"), "b.example.org")
    make_record_set(provider, "c.example.org")
    make_record_set(provider, "d.example.org", state=OwnershipState.CONFLICT)

    board = sign_in(make_administrator()).get(reverse("admin:index")).context["board"]

    assert {state: amount for state, _label, amount in board.states} == {
        "owned": 2,
        "unmanaged": 1,
        "conflict": 1,
        "unknown": 0,
    }


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "mirror of 14:02"),
        ({"status": "failing"}, "mirror of 14:02, provider down for 12 min"),
        ({"status": "held"}, "mirror of 14:02, newer snapshot held for review"),
        ({"is_enabled": False}, "mirror of 14:02, sync is off"),
        ({"accepted_at": None}, "not synced yet"),
        ({"accepted_at": None, "consecutive_failures": 2}, "first sync failed"),
    ],
)
def test_freshness_is_one_line(values: dict[str, object], line: str) -> None:
    now = timezone.now().replace(hour=14, minute=14, second=0, microsecond=0)
    seen = now - timedelta(minutes=12)
    provider = Provider(**{"accepted_at": seen, "last_sync_at": now, **values})

    described = describe_freshness(provider, now)

    assert described == line


def test_a_provider_nobody_syncs_any_more_is_late() -> None:
    now = timezone.now().replace(hour=14, minute=14, second=0, microsecond=0)
    seen = now - timedelta(minutes=12)

    described = describe_freshness(Provider(accepted_at=seen, last_sync_at=seen), now)

    assert described == "mirror of 14:02, late by its schedule (12 min old)"


def test_open_findings_are_counted_by_kind_and_listed_as_counted() -> None:
    provider = make_fresh_provider()
    for number, state in enumerate(["open", "open", "acknowledged", "resolved"]):
        make_finding(provider=provider, kind="orphan_claim", name=f"{number}.example.org", state=state)
    client = sign_in(make_administrator())

    [(url, _severity, _word, label, amount)] = client.get(reverse("admin:index")).context["findings"]

    assert (label, amount) == ("Claim without record", 2)
    assert client.get(url).context["cl"].result_count == 2


@pytest.mark.parametrize(("seconds", "words"), [(-5, "within seconds"), (90, "in 89 s")])
def test_what_is_due_is_not_told_as_gone_by(seconds: int, words: str) -> None:
    at = timezone.now() + timedelta(seconds=seconds, milliseconds=-500)

    assert words in format_due(at)


def test_it_says_whether_worker_scheduler_broker_and_database_run(settings: Settings) -> None:
    make_fresh_provider()
    client = sign_in(make_administrator())
    cache.clear()
    note_heartbeat("worker")

    def look() -> dict[str, tuple[bool, str]]:
        parts = client.get(reverse("admin:index")).context["parts"]
        return {part.name: (part.is_well, part.text) for part in parts}

    with_broker = look()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    without = look()

    assert {name: is_well for name, (is_well, _) in with_broker.items()} == {
        "Worker": True,
        "Scheduler": False,
        "Broker": True,
        "Database": True,
    }
    assert "python -m dnsadmin.roles beat" in with_broker["Scheduler"][1]
    assert [name for name, (is_well, _) in without.items() if is_well] == ["Database"]
    assert "does not respond" in without["Broker"][1]
