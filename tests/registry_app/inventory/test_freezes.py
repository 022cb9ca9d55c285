"""A freeze has a reason, an actor, and an end that can be brought forward once."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.inventory.freeze import delete_freeze, freeze, lift_freeze
from registry_app.models import AuditEntry, Freeze, Grant, Provider
from registry_app.queries.freeze import FreezeState, compute_freeze_state


def _provider() -> Provider:
    return Provider.objects.create(name="public-dns", url="http://127.0.0.1:8888")


@pytest.mark.django_db
def test_it_freezes_one_provider_from_now() -> None:
    provider = _provider()

    row = freeze(SYSTEM, provider_id=provider.pk, reason="change board")

    assert (row.provider, row.ends_at) == (provider, None)
    assert row.starts_at <= timezone.now()
    assert AuditEntry.objects.get().action == "freeze.started"


@pytest.mark.django_db
@pytest.mark.parametrize("reason", ["", "   "])
def test_it_wants_a_reason(reason: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        freeze(SYSTEM, provider_id=None, reason=reason)

    assert "reason" in caught.value.fields
    assert not Freeze.objects.exists()


@pytest.mark.django_db
def test_it_refuses_an_end_before_the_start() -> None:
    with pytest.raises(InvalidRequest):
        freeze(SYSTEM, provider_id=None, reason="no", ends_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db
def test_a_person_may_freeze_what_they_operate_and_nothing_else() -> None:
    provider = _provider()
    team = Group.objects.create(name="team-blue")
    alice = User.objects.create(username="alice")
    alice.groups.add(team)
    Grant.objects.create(group=team, action=Grant.Action.OPERATE, provider=provider)
    actor = Actor(kind="user", name="alice", user_id=alice.pk)

    row = freeze(actor, provider_id=provider.pk, reason="incident")

    assert row.created_by == "alice"
    with pytest.raises(NotAllowed):
        freeze(actor, provider_id=None, reason="incident")


@pytest.mark.django_db
def test_lifting_ends_it_now_and_only_once() -> None:
    row = freeze(SYSTEM, provider_id=None, reason="incident")

    lifted = lift_freeze(SYSTEM, row.pk)

    assert lifted.ends_at is not None
    assert lifted.ends_at <= timezone.now()
    with pytest.raises(StateMoved):
        lift_freeze(SYSTEM, row.pk)


@pytest.mark.django_db
def test_a_freeze_that_has_not_begun_can_be_lifted() -> None:
    row = freeze(SYSTEM, provider_id=None, reason="weekend", starts_at=timezone.now() + timedelta(days=1))

    lifted = lift_freeze(SYSTEM, row.pk)

    assert lifted.ends_at == lifted.starts_at


@pytest.mark.django_db
def test_a_freeze_is_deleted_before_it_starts_and_only_then() -> None:
    planned = freeze(SYSTEM, provider_id=None, reason="weekend", starts_at=timezone.now() + timedelta(days=1))
    started = freeze(SYSTEM, provider_id=None, reason="incident")

    delete_freeze(SYSTEM, planned.pk)
    with pytest.raises(StateMoved, match="Lift it to end it now"):
        delete_freeze(SYSTEM, started.pk)

    assert list(Freeze.objects.all()) == [started]
    entry = AuditEntry.objects.get(action="freeze.deleted")
    assert entry.before is not None
    assert entry.before["reason"] == "weekend"


@pytest.mark.django_db
def test_its_state_follows_the_clock() -> None:
    now = timezone.now()
    day = timedelta(days=1)
    row = freeze(SYSTEM, provider_id=None, reason="weekend", starts_at=now + day, ends_at=now + 2 * day)

    assert compute_freeze_state(row, now) == FreezeState.PLANNED
    assert compute_freeze_state(row, now + day) == FreezeState.ACTIVE
    assert compute_freeze_state(row, now + 2 * day) == FreezeState.OVER


@pytest.mark.django_db
def test_one_lifted_before_it_started_is_over_at_once() -> None:
    now = timezone.now()
    row = freeze(SYSTEM, provider_id=None, reason="weekend", starts_at=now + timedelta(days=1))

    lifted = lift_freeze(SYSTEM, row.pk)

    assert compute_freeze_state(lifted, now) == FreezeState.OVER
