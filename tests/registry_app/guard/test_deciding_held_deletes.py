"""A person releases or keeps held deletes: who may, what is decided, and what the instance does then."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.guard.decide_held_deletes import (
    MOST_IDS,
    HeldSelection,
    keep_held_deletes,
    release_held_deletes,
)
from registry_app.models import AuditEntry, Grant, GuardEndpoint, HeldDelete
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import (
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.reference_server import make_zone
from tests.registry_app.guard.serving import guarded
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db
_STATUS = HeldDelete.Status


def _statuses() -> dict[str, str]:
    return dict(HeldDelete.objects.values_list("name", "status"))


def _make_operator(**reach: Any) -> Any:
    user, team = make_user("charlie"), Group.objects.create(name="operators")
    user.groups.add(team)
    Grant.objects.create(group=team, action=Grant.Action.OPERATE, **reach)
    return make_actor(user)


@pytest.mark.django_db(transaction=True)
def test_a_released_delete_is_made_at_the_next_sync_and_a_kept_one_never(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 12)
    desired = [each for each in zone if each.record_type != "TXT"]
    gone = [each.dns_name for each in desired[:5]]
    with guarded(tmp_path, zone, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        guard.endpoint.first_changes_at = guard.endpoint.created_at
        guard.endpoint.save()
        with Instance(Settings(guard.url, "blue-cluster"), desired[5:]) as instance:
            instance.run_once()
            held = _statuses()
            quiet = instance.run_once()
            before = guard.reference.zone_bytes()
            keep_held_deletes(SYSTEM, HeldSelection(guard_endpoint=guard.endpoint, name_suffix=gone[0]))
            release_held_deletes(SYSTEM, HeldSelection(guard_endpoint=guard.endpoint, name_suffix=gone[1]))
            is_untouched = guard.reference.zone_bytes() == before
            released = instance.run_once()
            after = instance.run_once()
        names = {each.dns_name for each in guard.reference.backend.records()}

    assert held == dict.fromkeys(gone, _STATUS.HELD)
    assert is_untouched
    assert [each.outcome for each in (quiet, released, after)] == [
        Outcome.QUIET,
        Outcome.CHANGED,
        Outcome.QUIET,
    ]
    assert set(gone) - names == {gone[1]}
    assert _statuses() == {**dict.fromkeys(gone, _STATUS.HELD), gone[0]: "kept", gone[1]: "deleted"}


def test_all_of_a_guard_endpoint_are_released_with_one_audit_entry() -> None:
    row = make_guard_endpoint(slug="blue")
    make_held_delete(row, "a.example.org")
    make_held_delete(row, "b.example.org", status=_STATUS.KEPT)
    make_held_delete(row, "c.example.org", status=_STATUS.WANTED)
    other = make_guard_endpoint(make_instance(row.instance.owner, "other"), make_provider("green-zone"))
    make_held_delete(other, "d.example.org")

    done = release_held_deletes(SYSTEM, HeldSelection(guard_endpoint=row), reason="The shop is closed.")

    assert (done.status, done.count, done.names) == ("released", 2, ["a.example.org", "b.example.org"])
    assert _statuses() == {
        "a.example.org": "released",
        "b.example.org": "released",
        "c.example.org": "wanted",
        "d.example.org": "held",
    }
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_label) == ("guard_endpoint.deletes_released", "blue")
    assert (entry.before, entry.reason) == ({"held": 1, "kept": 1}, "The shop is closed.")
    assert entry.after == {"released": 2, "names": ["a.example.org", "b.example.org"]}
    kept = HeldDelete.objects.get(name="a.example.org")
    assert (kept.decided_by, kept.decision_reason) == (SYSTEM.name, "The shop is closed.")
    assert kept.decided_at is not None


def test_the_names_of_an_audit_entry_are_bounded() -> None:
    row = make_guard_endpoint()
    for number in range(120):
        make_held_delete(row, f"app-{number:03}.example.org")

    done = keep_held_deletes(SYSTEM, HeldSelection(guard_endpoint=row, expected_count=120))

    entry = AuditEntry.objects.get()
    assert entry.after is not None
    assert (done.count, entry.after["kept"], len(entry.after["names"])) == (120, 120, 100)


def test_those_below_a_name_are_chosen_in_any_spelling() -> None:
    row = make_guard_endpoint()
    for name in ("shop.example.org", "www.shop.example.org", "workshop.example.org"):
        make_held_delete(row, name)

    keep_held_deletes(SYSTEM, HeldSelection(guard_endpoint=row, name_suffix="Shop.Example.org."))

    assert _statuses() == {
        "shop.example.org": "kept",
        "www.shop.example.org": "kept",
        "workshop.example.org": "held",
    }


def test_if_one_of_several_does_not_wait_any_more_none_is_decided() -> None:
    row = make_guard_endpoint()
    held = make_held_delete(row, "a.example.org")
    wanted = make_held_delete(row, "b.example.org", status=_STATUS.WANTED)
    kept = make_held_delete(row, "c.example.org", status=_STATUS.KEPT)

    for act, ids in (
        (release_held_deletes, (held.pk, wanted.pk)),
        (keep_held_deletes, (held.pk, kept.pk)),
    ):
        with pytest.raises(StateMoved, match=r"any more: [bc]\.example\.org"):
            act(SYSTEM, HeldSelection(ids=ids))
    with pytest.raises(StateMoved, match="by now"):
        release_held_deletes(SYSTEM, HeldSelection(guard_endpoint=row, expected_count=1))
    with pytest.raises(NotFound, match="4711"):
        release_held_deletes(SYSTEM, HeldSelection(ids=(held.pk, 4711)))

    statuses = {"a.example.org": "held", "b.example.org": "wanted", "c.example.org": "kept"}
    assert _statuses() == statuses
    assert not AuditEntry.objects.exists()


def test_where_nothing_waits_it_says_so() -> None:
    with pytest.raises(StateMoved, match="No held delete waits"):
        release_held_deletes(SYSTEM, HeldSelection(guard_endpoint=make_guard_endpoint()))


def test_what_cannot_be_meant_is_refused() -> None:
    row = make_guard_endpoint()
    for selection, field in (
        (HeldSelection(), "ids"),
        (HeldSelection(ids=(1,), guard_endpoint=row), "ids"),
        (HeldSelection(ids=tuple(range(MOST_IDS + 1))), "ids"),
        (HeldSelection(ids=(1,), name_suffix="example.org"), "name_suffix"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            keep_held_deletes(SYSTEM, selection)
        assert list(refused.value.fields) == [field]


@pytest.mark.parametrize(
    ("reach", "may"),
    [
        ({}, True),
        ({"name_suffix": "shop.example.org"}, True),
        ({"name_suffix": "other.example.org"}, False),
        ({"owner": "blue-cluster"}, True),
        ({"owner": "green-cluster"}, False),
        ({"provider": "blue-zone"}, True),
        ({"provider": "green-zone"}, False),
    ],
)
def test_a_grant_to_operate_reaches_as_far_as_it_is_not_narrowed(reach: dict[str, str], may: bool) -> None:
    row = make_guard_endpoint()
    there = {
        "blue-cluster": row.instance.owner,
        "green-cluster": make_owner("green-cluster"),
        "blue-zone": row.provider,
        "green-zone": make_provider("green-zone", url="http://127.0.0.1:8"),
    }
    actor = _make_operator(**{name: there.get(value, value) for name, value in reach.items()})
    held = make_held_delete(row, "www.shop.example.org")

    for selection in (HeldSelection(ids=(held.pk,)), HeldSelection(guard_endpoint=row)):
        if may:
            assert release_held_deletes(actor, selection).count == 1
            HeldDelete.objects.update(status=_STATUS.HELD)
            continue
        with pytest.raises(NotAllowed):
            release_held_deletes(actor, selection)
    assert AuditEntry.objects.count() == (2 if may else 0)


def test_one_name_out_of_reach_refuses_all_and_is_named() -> None:
    row = make_guard_endpoint()
    actor = _make_operator(name_suffix="shop.example.org")
    make_held_delete(row, "www.shop.example.org")
    make_held_delete(row, "www.bank.example.org")

    with pytest.raises(NotAllowed, match=r"www\.bank\.example\.org\."):
        release_held_deletes(actor, HeldSelection(guard_endpoint=row))
    done = release_held_deletes(actor, HeldSelection(guard_endpoint=row, name_suffix="shop.example.org"))

    assert done.count == 1
    assert _statuses() == {"www.shop.example.org": "released", "www.bank.example.org": "held"}


def test_who_may_not_operate_learns_nothing_of_an_empty_list() -> None:
    row = make_guard_endpoint()

    with pytest.raises(NotAllowed):
        keep_held_deletes(make_actor(make_user("bob")), HeldSelection(guard_endpoint=row))


@pytest.mark.django_db(transaction=True)
def test_a_release_ends_when_the_instance_wants_it_again(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 12)
    desired = [each for each in zone if each.record_type != "TXT"]
    with guarded(tmp_path, zone, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        guard.endpoint.first_changes_at = guard.endpoint.created_at
        guard.endpoint.save()
        with Instance(Settings(guard.url, "blue-cluster"), desired[5:]) as instance:
            instance.run_once()
            release_held_deletes(SYSTEM, HeldSelection(guard_endpoint=guard.endpoint))
            instance.desired = desired
            wanted = instance.run_once()
            ended = _statuses()
            instance.desired = desired[5:]
            instance.run_once()
        names = {each.dns_name for each in guard.reference.backend.records()}

    assert wanted.outcome == Outcome.QUIET
    assert set(ended.values()) == {_STATUS.WANTED}
    assert set(_statuses().values()) == {_STATUS.HELD}
    assert {each.dns_name for each in desired} <= names
