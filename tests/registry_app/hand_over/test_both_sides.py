"""A hand-over where both sides must agree: two consents at the beginning, and none for each name."""

from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    cancel_hand_over,
    pause_hand_over,
    reject_hand_over,
)
from registry_app.hand_over.request_hand_over import preview_hand_over, request_hand_over
from registry_app.models import AuditEntry, Grant, HandOver, HandOverItem, Provider, Transfer
from registry_app.queries.consent import list_consents, list_missing_sides
from registry_app.queries.hand_over import list_allowed_actions
from registry_app.queries.write_invariants import find_unapproved_writes
from tests.factories import make_administrator, make_user
from tests.providers.planning.planned import wanted
from tests.reference_server import make_zone
from tests.registry_app.hand_over.world import BLUE, GREEN, Clusters, open_clusters, states
from tests.registry_app.transfer.test_approval import side_by_side
from tests.registry_app.transfer.test_both_sides import ACTION, BOTH, make_blue, make_green
from tests.registry_app.transfer.world import make_actor, make_alice

pytestmark = pytest.mark.django_db(transaction=True)
STATE, STATUS = HandOverItem.State, HandOver.Status
ZONE = make_zone(BLUE, 2)
NAMES = [f"app-0000{number}.example.org" for number in range(2)]


def _request(clusters: Clusters, actor: Actor) -> HandOver:
    asked = clusters.build_request()
    return request_hand_over(actor, asked, fingerprint=preview_hand_over(actor, asked).fingerprint)


def _consent(actor: Actor, row: HandOver, side: str | None = None) -> HandOver:
    return approve_hand_over(actor, row.public_id, fingerprint=row.fingerprint, side=side)


def _actions(actor: Actor, row: HandOver) -> list[tuple[str, str]]:
    stored = HandOver.objects.get(pk=row.pk)
    return [(each.action, each.side) for each in list_allowed_actions(actor, stored)]


def _want_all(clusters: Clusters) -> None:
    clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES]
    clusters.green.run_once()


def test_two_people_with_grants_over_their_own_owner_alone_hand_names_over(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, approval_policy=BOTH) as clusters:
        alice, bob, charlie = make_blue("alice", ACTION.REQUEST), make_blue("bob"), make_green("charlie")
        row = _request(clusters, alice)
        offered = (_actions(alice, row), _actions(bob, row), _actions(charlie, row))
        first = _consent(bob, row)
        half = (first.status, list_missing_sides(first), _actions(bob, row))
        row = _consent(charlie, row)
        # What both agreed to does not change with the provider's policy.
        Provider.objects.update(approval_policy="other_person")
        _want_all(clusters)
        clusters.work(row)

        assert clusters.owners() == {BLUE: 0, GREEN: 2}
        assert find_unapproved_writes() is None
    moved = Transfer.objects.get()
    assert offered == (
        [("cancel", "")],
        [("approve", "giver"), ("reject", "")],
        [("approve", "taker"), ("reject", "")],
    )
    assert half == (STATUS.REQUESTED, ["taker"], [("reject", "")])
    assert row.status == STATUS.RUNNING
    given = [[(each.side, each.by) for each in list_consents(each)] for each in (row, moved)]
    assert given == [[("giver", "bob"), ("taker", "charlie")]] * 2
    assert moved.approval_policy == BOTH
    entries = AuditEntry.objects.filter(object_type="handover").order_by("sequence")
    assert list(entries.values_list("action", "actor_name"))[:3] == [
        ("hand_over.requested", "alice"),
        ("hand_over.consented", "bob"),
        ("hand_over.approved", "charlie"),
    ]


def test_one_person_consents_for_one_side_and_a_side_is_asked_once(tmp_path: Path) -> None:
    root, mallory = make_actor(make_administrator()), make_actor(make_user("mallory"))
    with open_clusters(tmp_path, ZONE, approval_policy=BOTH) as clusters:
        bob, charlie = make_blue("bob"), make_green("charlie")
        row = _request(clusters, root)
        with pytest.raises(InvalidRequest) as which:
            _consent(root, row)
        _consent(root, row, "giver")
        with pytest.raises(NotAllowed) as twice:
            _consent(root, row, "taker")
        with pytest.raises(StateMoved, match=r"root consented for blue-cluster \(gives\) already"):
            _consent(bob, row, "giver")
        with pytest.raises(NotAllowed, match=r"mallory may not consent for green-cluster \(takes\)"):
            _consent(mallory, row)
        with pytest.raises(StateMoved) as other_plan:
            approve_hand_over(charlie, row.public_id, fingerprint="another")
        with pytest.raises(IntegrityError), transaction.atomic():
            HandOver.objects.update(approved_by=root.user_id, approved_at=row.created_at)

        assert _consent(charlie, row).status == STATUS.RUNNING
    assert which.value.fields == {"side": ["One of giver, taker."]}
    assert (twice.value.code, other_plan.value.code) == ("other_person_needed", "plan_moved")


def test_only_one_of_two_consents_for_one_side_wins(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, approval_policy=BOTH) as clusters:
        bob, dora = make_blue("bob"), make_blue("dora")
        row = _request(clusters, make_alice())
        results = side_by_side([lambda: _consent(bob, row), lambda: _consent(dora, row)])

    assert sum(isinstance(each, HandOver) for each in results) == 1
    assert AuditEntry.objects.filter(action="hand_over.consented").count() == 1


def test_either_side_rejects_cancels_and_pauses(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, approval_policy=BOTH) as clusters:
        bob, charlie, gina = make_blue("bob"), make_green("charlie"), make_green("gina", ACTION.REQUEST)
        alice = make_blue("alice", ACTION.REQUEST)
        ended = [reject_hand_over(charlie, _request(clusters, alice).public_id, reason="No.")]
        row = _request(clusters, alice)
        for act in (cancel_hand_over, pause_hand_over):
            with pytest.raises(NotAllowed):
                act(charlie, row.public_id, reason="No.")
        _consent(bob, row)
        _consent(charlie, row)
        ended += [pause_hand_over(gina, row.public_id), cancel_hand_over(gina, row.public_id)]

    assert [each.status for each in ended] == [STATUS.REJECTED, STATUS.PAUSED, STATUS.CANCELLED]


@pytest.mark.parametrize("who", ["bob", "charlie"])
def test_names_are_blocked_once_the_right_of_one_side_ended(who: str, tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, approval_policy=BOTH) as clusters:
        bob, charlie = make_blue("bob"), make_green("charlie")
        row = _consent(charlie, _consent(bob, _request(clusters, make_alice())))
        Grant.objects.filter(group__user__username=who).delete()
        _want_all(clusters)
        clusters.work(row)

    row.refresh_from_db()
    assert set(states(row).values()) == {STATE.BLOCKED}
    assert f"{who}, who consented for" in row.status_reason
    assert not Transfer.objects.exists()


def test_a_policy_made_stricter_blocks_what_one_person_approved(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        Provider.objects.update(approval_policy=BOTH)
        _want_all(clusters)
        clusters.work(row)

    row.refresh_from_db()
    assert set(states(row).values()) == {STATE.BLOCKED}
    assert "nobody consented for blue-cluster (gives) or green-cluster (takes)" in row.status_reason
    assert not Transfer.objects.exists()
