"""Who may decide about a hand-over, and what keeps it from running once that changed."""

from pathlib import Path

import pytest

from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety, StateMoved
from registry_app.hand_over.advance_hand_over import advance_hand_over
from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    cancel_hand_over,
    pause_hand_over,
    reject_hand_over,
    resume_hand_over,
    start_next_wave,
)
from registry_app.hand_over.request_hand_over import preview_hand_over, request_hand_over
from registry_app.hand_over.waves import Waves
from registry_app.models import AuditEntry, Grant, HandOver, HandOverItem, Transfer
from registry_app.queries.dependents import (
    find_guard_dependents,
    find_instance_dependents,
    find_owner_dependents,
    find_provider_dependents,
)
from registry_app.queries.hand_over import due_hand_overs, list_allowed_actions
from registry_app.queries.transfer import due_transfers
from registry_app.restore.note_restore import note_restore
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_user
from tests.providers.planning.planned import wanted
from tests.reference_server import make_zone
from tests.registry_app.hand_over.world import BLUE, GREEN, Clusters, open_clusters, states
from tests.registry_app.transfer.test_approval import side_by_side
from tests.registry_app.transfer.world import make_actor, make_alice, make_bob

pytestmark = pytest.mark.django_db(transaction=True)
STATE, STATUS = HandOverItem.State, HandOver.Status
ZONE = make_zone(BLUE, 6)
NAMES = [f"app-0000{number}.example.org" for number in range(6)]


def _want_all(clusters: Clusters) -> None:
    clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES]
    clusters.green.run_once()


def _actions(row: HandOver, who: str) -> list[str]:
    actor = {"alice": make_alice, "bob": make_bob}[who]()
    return [each.action for each in list_allowed_actions(actor, row)]


def test_a_plan_that_changed_since_its_preview_is_not_requested(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        request = clusters.build_request()
        seen = preview_hand_over(make_alice(), request).fingerprint
        other = clusters.build_request(ends_at=request.ends_at, waves=Waves("number", 2))

        with pytest.raises(StateMoved) as refusal:
            request_hand_over(make_alice(), other, fingerprint=seen)
    assert refusal.value.code == "plan_moved"
    assert not HandOver.objects.exists()


def test_an_approval_is_bound_to_the_names_that_are_stored(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = request_hand_over(make_alice(), clusters.build_request())
        row.items.filter(name=NAMES[0]).update(name="other.example.org")

        with pytest.raises(StateMoved) as refusal:
            approve_hand_over(make_bob(), row.public_id, fingerprint=row.fingerprint)
    assert refusal.value.code == "plan_moved"


def test_a_name_is_in_one_unfinished_hand_over_only(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        first = request_hand_over(make_alice(), clusters.build_request(names=(NAMES[0],)))
        with pytest.raises(RefusedBySafety) as refusal:
            request_hand_over(make_alice(), clusters.build_request())
        cancel_hand_over(make_alice(), first.public_id)
        second = request_hand_over(make_alice(), clusters.build_request())

    assert refusal.value.code == "in_other_hand_over"
    assert second.items.count() == 6


def test_only_one_of_two_requests_for_a_name_is_stored(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        alice, request = make_alice(), clusters.build_request()
        results = side_by_side([lambda: request_hand_over(alice, request)] * 3)

    assert HandOver.objects.count() == 1
    assert sorted(type(each).__name__ for each in results) == ["HandOver", *["RefusedBySafety"] * 2]


def test_only_one_of_two_decisions_wins(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = request_hand_over(make_alice(), clusters.build_request())
        alice, bob = make_alice(), make_bob()
        results = side_by_side(
            [
                lambda: approve_hand_over(bob, row.public_id, fingerprint=row.fingerprint),
                lambda: reject_hand_over(bob, row.public_id, reason="No."),
            ]
        )
        waves = clusters.build_request(ends_at=row.ends_at, waves=Waves("number", 1))
        HandOver.objects.all().delete()
        second = request_hand_over(alice, waves)
        approve_hand_over(bob, second.public_id, fingerprint=second.fingerprint)
        begun = side_by_side([lambda: start_next_wave(alice, second.public_id)] * 2)

    second.refresh_from_db()
    assert sorted(type(each).__name__ for each in results) == ["HandOver", "StateMoved"]
    assert second.wave == 1 + sum(isinstance(each, HandOver) for each in begun)


def test_a_provider_without_approvals_lets_a_reviewed_request_run(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, approval_policy="none") as clusters:
        request = clusters.build_request(names=(NAMES[0],))
        seen = preview_hand_over(make_alice(), request).fingerprint
        running = request_hand_over(make_alice(), request, fingerprint=seen)
        waiting = request_hand_over(make_alice(), clusters.build_request(names=(NAMES[1],)))
        planner = make_actor(make_user("planner", is_superuser=True), scopes=frozenset({"read", "plan"}))
        third = clusters.build_request(names=(NAMES[2],))
        asked = request_hand_over(planner, third, fingerprint=preview_hand_over(planner, third).fingerprint)

    assert (running.status, running.approved_by_name) == (STATUS.RUNNING, "the policy of blue-zone")
    assert (waiting.status, "without the fingerprint" in waiting.status_reason) == (STATUS.REQUESTED, True)
    assert (asked.status, "without the scope apply" in asked.status_reason) == (STATUS.REQUESTED, True)


def test_nothing_is_approved_during_a_freeze_and_what_runs_says_so(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin(names=(NAMES[0],))
        waiting = request_hand_over(make_alice(), clusters.build_request(names=(NAMES[1],)))
        freeze = clusters.provider.freezes.create(
            reason="Change stop.", created_by="root", starts_at=fetch_now()
        )
        with pytest.raises(RefusedBySafety) as refusal:
            approve_hand_over(make_bob(), waiting.public_id, fingerprint=waiting.fingerprint)
        _want_all(clusters)
        clusters.work(row)
        row.refresh_from_db()
        during = (states(row)[NAMES[0]], row.status_reason, Transfer.objects.count())
        freeze.delete()
        clusters.work(row)
        row.refresh_from_db()

    assert refusal.value.code == "frozen"
    assert during[::2] == (STATE.BLOCKED, 0)
    assert during[1].startswith("Blocked: 1 of its names.")
    assert "Change stop." in during[1]
    assert states(row)[NAMES[0]] in (STATE.MOVED, STATE.SERVING)
    assert row.status_reason == ""
    assert AuditEntry.objects.filter(action="hand_over.blocked").count() == 1


def test_whoever_approved_must_still_have_the_right_and_the_row_says_so(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        Grant.objects.filter(action="approve").delete()
        _want_all(clusters)
        clusters.work(row)

    row.refresh_from_db()
    assert set(states(row).values()) == {STATE.BLOCKED}
    assert "bob approved it and may not approve it any more." in row.status_reason
    assert not Transfer.objects.exists()


def test_whoever_requested_must_still_have_the_right_and_the_row_says_so(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        Grant.objects.filter(action="request").delete()
        _want_all(clusters)
        clusters.work(row)

    row.refresh_from_db()
    assert set(states(row).values()) == {STATE.BLOCKED}
    assert row.status_reason.startswith("Blocked: 6 of its names.")
    assert not Transfer.objects.exists()


def test_the_requester_may_always_cancel_and_others_need_a_right(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        alice, bob = make_alice(), make_bob()
        Grant.objects.all().delete()
        mallory = make_actor(make_user("mallory"))
        for act in (cancel_hand_over, pause_hand_over, resume_hand_over):
            with pytest.raises(NotAllowed):
                act(mallory, row.public_id)
        offered = [[each.action for each in list_allowed_actions(who, row)] for who in (alice, bob)]
        cancelled = cancel_hand_over(alice, row.public_id, reason="Not now.")

    assert offered == [["cancel"], []]
    assert (cancelled.status, cancelled.status_reason) == (STATUS.CANCELLED, "Not now.")


def test_what_may_be_done_depends_on_the_state(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = request_hand_over(make_alice(), clusters.build_request(waves=Waves("number", 3)))
        requested = (_actions(row, "alice"), _actions(row, "bob"))
        row = approve_hand_over(make_bob(), row.public_id, fingerprint=row.fingerprint)
        running = _actions(row, "alice")
        row = pause_hand_over(make_alice(), row.public_id)
        paused = _actions(row, "alice")
        with pytest.raises(StateMoved, match="is paused now"):
            reject_hand_over(make_bob(), row.public_id, reason="Too late.")

    assert requested[0] == ["cancel"]
    assert requested[1][:2] == ["approve", "reject"]
    assert running == ["next_wave", "pause", "cancel"]
    assert paused == ["resume", "cancel"]


def test_a_cancelled_hand_over_sends_nothing_more(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        _want_all(clusters)
        HandOver.objects.update(next_run_at=None)
        advance_hand_over(row.pk)
        waiting = Transfer.objects.get()
        cancel_hand_over(make_alice(), row.public_id)
        followed = due_hand_overs()
        for transfer_id in due_transfers():
            run_transfer(transfer_id)
        advance_hand_over(row.pk)

        assert clusters.owners() == {BLUE: 6, GREEN: 0}
    waiting.refresh_from_db()
    assert waiting.status == Transfer.Status.CANCELLED
    assert followed == [row.pk]
    assert due_hand_overs() == []
    assert set(states(row).values()) == {STATE.FAILED}


def test_an_unfinished_hand_over_keeps_what_it_needs(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        endpoint = clusters.guard.endpoint
        found = [
            find_provider_dependents(clusters.provider),
            find_owner_dependents(row.to_owner),
            find_instance_dependents(endpoint.instance),
            find_guard_dependents(endpoint),
        ]
        cancel_hand_over(make_alice(), row.public_id)
        left = find_guard_dependents(endpoint)

    sentence = f"Used by the unfinished hand-over {row}. Cancel it first, or wait until it ends."
    assert all(sentence in each for each in found)
    assert left == []


def test_a_restored_database_pauses_what_runs_and_cancels_what_waits(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        running = clusters.begin(names=(NAMES[0],))
        waiting = request_hand_over(make_alice(), clusters.build_request(names=(NAMES[1],)))
        note_restore(SYSTEM, None, how="A test.")

    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.status, waiting.status) == (STATUS.PAUSED, STATUS.CANCELLED)
    assert "The database was restored" in running.status_reason
    assert "Request it again" in waiting.status_reason
