"""A freeze has a reason, an actor, and an end that can be brought forward once."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.domain_filter import DomainFilter
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.inventory.freeze import delete_freeze, freeze, lift_freeze
from registry_app.models import AuditEntry, Freeze, Grant, Owner, Provider
from registry_app.queries.freeze import (
    FreezeState,
    Stops,
    compute_freeze_state,
    compute_next_change,
    describe_freeze,
    fetch_active_freezes,
)


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


def _make_alice(**grant: Any) -> Actor:
    team = Group.objects.create(name="team-blue")
    alice = User.objects.create(username="alice")
    alice.groups.add(team)
    Grant.objects.create(group=team, action=Grant.Action.OPERATE, **grant)
    return Actor(kind="user", name="alice", user_id=alice.pk)


@pytest.mark.django_db
def test_who_may_operate_some_names_may_freeze_these_and_no_more() -> None:
    provider = _provider()
    alice = _make_alice(provider=provider, name_suffix="shop.example.org")

    row = freeze(
        alice,
        provider_id=provider.pk,
        reason="incident",
        names=["www.shop.example.org"],
        name_suffixes=[".shop.example.org"],
    )
    lift_freeze(alice, row.pk)

    beyond: list[dict[str, Any]] = [{"names": ["www.example.org"]}, {"name_suffixes": ["example.org"]}, {}]
    for values in beyond:
        with pytest.raises(NotAllowed):
            freeze(alice, provider_id=provider.pk, reason="incident", **values)
    with pytest.raises(NotAllowed):
        freeze(alice, provider_id=None, reason="incident", names=["www.shop.example.org"])
    assert Freeze.objects.count() == 1


@pytest.mark.django_db
def test_who_may_operate_an_owner_may_freeze_it_and_no_other() -> None:
    provider = _provider()
    blue, green = (Owner.objects.create(owner_id=f"{each}-cluster") for each in ("blue", "green"))
    alice = _make_alice(provider=provider, owner=blue)

    row = freeze(alice, provider_id=provider.pk, reason="incident", owner=blue)

    with pytest.raises(NotAllowed):
        freeze(alice, provider_id=provider.pk, reason="incident", owner=green)
    with pytest.raises(NotAllowed):
        freeze(alice, provider_id=provider.pk, reason="incident")
    assert list(Freeze.objects.all()) == [row]


def _make_weekend(**values: Any) -> Freeze:
    return Freeze.objects.create(
        **{
            "reason": "Weekend.",
            "starts_at": datetime(2026, 1, 1, tzinfo=UTC),
            "created_by": "alice",
            "window_use": "inside",
            "window_weekdays": ["fri"],
            "window_start": time(16),
            "window_minutes": 64 * 60,
            "window_time_zone": "Europe/Berlin",
            **values,
        }
    )


@pytest.mark.django_db
def test_with_a_weekly_window_it_is_in_force_inside_or_outside_of_it() -> None:
    inside, outside = _make_weekend(), _make_weekend(window_use="outside")
    thursday, saturday = (datetime(2026, 1, day, 12, tzinfo=UTC) for day in (8, 10))
    friday, monday = datetime(2026, 1, 9, 15, tzinfo=UTC), datetime(2026, 1, 12, 7, tzinfo=UTC)
    provider = _provider()

    states = [compute_freeze_state(row, at) for row in (inside, outside) for at in (thursday, saturday)]

    between, active = FreezeState.BETWEEN, FreezeState.ACTIVE
    assert states == [between, active, active, between]
    assert fetch_active_freezes(provider, thursday) == [outside]
    assert fetch_active_freezes(provider, saturday) == [inside]
    assert [compute_next_change(row, thursday) for row in (inside, outside)] == [friday, friday]
    assert compute_next_change(inside, saturday) == monday
    said = describe_freeze(inside, saturday)
    assert said == "All providers are frozen until 2026-01-12 07:00 UTC (Weekend.)"


@pytest.mark.django_db
def test_its_start_and_its_end_bound_its_weekly_window() -> None:
    end = datetime(2026, 1, 10, 12, tzinfo=UTC)
    row = _make_weekend(ends_at=end)

    assert compute_next_change(row, datetime(2025, 12, 1, tzinfo=UTC)) == datetime(2026, 1, 2, 15, tzinfo=UTC)
    assert compute_next_change(row, datetime(2026, 1, 10, tzinfo=UTC)) == end
    assert compute_freeze_state(row, datetime(2025, 12, 27, 12, tzinfo=UTC)) == FreezeState.PLANNED
    assert compute_freeze_state(row, end) == FreezeState.OVER
    row.ends_at = datetime(2026, 1, 7, tzinfo=UTC)
    assert compute_next_change(row, datetime(2026, 1, 6, tzinfo=UTC)) is None


@pytest.mark.django_db
def test_in_a_time_zone_that_is_not_known_here_it_is_in_force() -> None:
    row = _make_weekend(window_time_zone="Mars/Olympus_Mons")

    assert compute_freeze_state(row, datetime(2026, 1, 8, 12, tzinfo=UTC)) == FreezeState.ACTIVE


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"names": ["a.org", "b.org"]}, "a.org, b.org are frozen"),
        ({"name_suffixes": [".a.org"]}, "*.a.org is frozen"),
        (
            {"name_suffixes": ["a.org", "b.org", "c.org", "d.org"]},
            "a.org and below, b.org and below, c.org and",
        ),
        ({"kind": "pin"}, "All providers are pinned"),
        ({"owner": Owner(pk=1, owner_id="blue-cluster")}, "Everything of blue-cluster is frozen"),
        ({"provider": Provider(name="blue-zone")}, "blue-zone is frozen"),
        (
            {
                "provider": Provider(name="blue-zone"),
                "owner": Owner(pk=1, owner_id="blue"),
                "names": ["a.org"],
            },
            "a.org of blue at blue-zone is frozen",
        ),
    ],
)
def test_its_description_names_what_it_is_of(values: dict[str, Any], said: str) -> None:
    now = timezone.now()
    row = Freeze(reason="Weekend.", starts_at=now, **values)

    assert describe_freeze(row, now).startswith(said)


_NAMES = st.lists(st.sampled_from(["a", "b", "example", "*"]), min_size=1, max_size=4).map(".".join)
_SUFFIXES = st.tuples(st.sampled_from(["", "."]), _NAMES).map("".join)


@given(name=_NAMES, suffixes=st.lists(_SUFFIXES, min_size=1, max_size=4))
def test_suffixes_mean_what_they_mean_in_a_domain_filter(name: str, suffixes: list[str]) -> None:
    now = timezone.now()
    stops = Stops((Freeze(reason="Weekend.", starts_at=now, name_suffixes=suffixes),), now)

    assert bool(stops.find(name)) is DomainFilter(include=tuple(suffixes)).matches(name)
