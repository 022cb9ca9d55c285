"""The invariants of what the guard sent, each shown broken once; and what is purged of it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings

from registry_app.clock import fetch_now
from registry_app.guard.purge import purge_guard
from registry_app.models import GuardDecision, GuardEndpoint, GuardStep, HeldDelete
from registry_app.queries.guard_invariants import GUARD_INVARIANTS
from tests.factories import make_guard_endpoint, make_provider

pytestmark = pytest.mark.django_db
STATUS = GuardStep.Status


@pytest.fixture
def endpoint() -> GuardEndpoint:
    return make_guard_endpoint(provider=make_provider())


def _make_step(endpoint: GuardEndpoint, **values: object) -> GuardStep:
    now = fetch_now()
    defaults: dict[str, object] = {
        "status": STATUS.VERIFIED,
        "change_set": "{}",
        "body_digest": "d",
        "epoch": 1,
        "stored_at": now,
        "answered_at": now,
        "read_back_at": now,
    }
    return GuardStep.objects.create(
        guard_endpoint=endpoint, provider=endpoint.provider, slug=endpoint.slug, **{**defaults, **values}
    )


def _age(days: int = 1) -> timedelta:
    return settings.DNSADMIN_RETENTION_RUNS + timedelta(days=days)


@pytest.mark.parametrize(
    ("broken", "identity"),
    [
        (lambda: {"change_set": ""}, "I5"),
        (lambda: {"answered_at": fetch_now() - timedelta(minutes=1)}, "I5"),
        (lambda: {"read_back_at": None}, "I6"),
        (lambda: {"status": STATUS.SENDING, "stored_at": fetch_now() - timedelta(hours=1)}, "I7"),
    ],
)
def test_each_of_them_sees_its_own_break(
    endpoint: GuardEndpoint, broken: Callable[[], dict[str, object]], identity: str
) -> None:
    _make_step(endpoint)
    assert [each.id for each in GUARD_INVARIANTS if each.find()] == []

    _make_step(endpoint, **broken())

    assert [each.id for each in GUARD_INVARIANTS if each.find()] == [identity]


def test_what_is_old_is_purged_and_what_is_open_stays(endpoint: GuardEndpoint) -> None:
    old, now = fetch_now() - _age(), fetch_now()
    _make_step(endpoint, stored_at=old)
    kept = {_make_step(endpoint).pk, _make_step(endpoint, stored_at=old, status=STATUS.SENDING).pk}
    for number, at in enumerate((old, now)):
        values = {
            "guard_endpoint": endpoint,
            "name": f"app-{number}.example.org",
            "rule": "not_owner",
            "reason": "r",
        }
        GuardDecision.objects.create(**values, outcome="refused", asked="delete A", first_at=old, last_at=at)
    for status, at in (("deleted", old), ("held", old), ("deleted", now)):
        HeldDelete.objects.create(
            guard_endpoint=endpoint,
            name=f"{status}-{at:%d}.example.org",
            rule="delete_all",
            reason="r",
            status=status,
            asked_at=old,
            last_asked_at=at,
        )

    assert purge_guard() == 3

    assert set(GuardStep.objects.values_list("pk", flat=True)) == kept
    assert list(GuardDecision.objects.values_list("name", flat=True)) == ["app-1.example.org"]
    assert set(HeldDelete.objects.values_list("status", flat=True)) == {"held", "deleted"}
