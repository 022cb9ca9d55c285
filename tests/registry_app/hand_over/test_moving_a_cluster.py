"""Names go from one cluster to another as soon as the other wants them, and are never gone in between."""

from pathlib import Path

import pytest
from django.urls import reverse

from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety
from registry_app.hand_over.advance_hand_over import advance_hand_over
from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    pause_hand_over,
    resume_hand_over,
    start_next_wave,
)
from registry_app.hand_over.request_hand_over import request_hand_over
from registry_app.hand_over.waves import Waves
from registry_app.models import (
    Freeze,
    GuardEndpoint,
    GuardRule,
    HandOver,
    HandOverItem,
    HeldDelete,
    Instance,
    RecordSet,
    Transfer,
)
from registry_app.queries.hand_over_items import fetch_item_facts
from registry_app.transfer.decisions import cancel_transfer
from tests.external_dns.instance import Outcome
from tests.factories import make_administrator
from tests.providers.planning.planned import wanted
from tests.reference_server import make_record, make_zone
from tests.registry_app.admin.world import sign_in
from tests.registry_app.hand_over.world import BLUE, GREEN, Clusters, open_clusters, states
from tests.registry_app.transfer.world import make_alice, make_bob

pytestmark = pytest.mark.django_db(transaction=True)
STATE, STATUS = HandOverItem.State, HandOver.Status
ZONE = make_zone(BLUE, 6)
NAMES = [f"app-0000{number}.example.org" for number in range(6)]


def _there(clusters: Clusters) -> set[str]:
    return {name for name, _ in clusters.records()}


def test_a_name_waits_until_it_is_wanted_then_moves_and_is_retargeted(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        clusters.blue.run_once()
        row = clusters.begin()
        clusters.work(row)
        waiting = set(states(row).values())
        clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
        clusters.green.run_once()
        clusters.work(row)
        moved = states(row)
        blue = clusters.blue.run_once().outcome
        clusters.green.run_once()
        clusters.work(row)

        assert clusters.records()[NAMES[0], "A"] == ("203.0.113.1",)
        assert clusters.owners() == {BLUE: 5, GREEN: 1}
    assert waiting == {STATE.WAITING}
    assert (moved[NAMES[0]], moved[NAMES[1]]) == (STATE.MOVED, STATE.WAITING)
    assert blue is Outcome.QUIET
    assert states(row)[NAMES[0]] == STATE.SERVING


def test_a_delete_of_the_old_owner_is_held_while_the_name_waits(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        clusters.blue.desired = clusters.blue.desired[1:]
        clusters.blue.run_once()
        held = list(HeldDelete.objects.values_list("name", "rule"))
        stayed = _there(clusters)
        quiet = clusters.blue.run_once().outcome
        clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
        clusters.green.run_once()
        clusters.work(row)
        clusters.green.run_once()

        assert clusters.records()[NAMES[0], "A"] == ("203.0.113.1",)
    assert held == [(NAMES[0], GuardRule.HAND_OVER)]
    assert stayed == set(NAMES)
    assert quiet is Outcome.QUIET


def test_a_whole_cluster_moves_and_the_old_one_is_switched_off(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        seen = [_there(clusters)]
        clusters.green.desired = [make_record(name, targets=("203.0.113.1",)) for name in NAMES]
        for _ in range(4):
            clusters.green.run_once()
            clusters.work(row)
            seen.append(_there(clusters))
        clusters.blue.desired = []
        clusters.blue.run_once()

        row.refresh_from_db()
        assert row.status == STATUS.FINISHED
        assert seen == [set(NAMES)] * 5
        assert clusters.records() == {(name, "A"): ("203.0.113.1",) for name in NAMES}
        assert clusters.owners() == {BLUE: 0, GREEN: 6}
    assert Transfer.objects.count() == 1


def test_a_wave_waits_for_its_turn_and_a_pause_stops_all(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin(waves=Waves("number", 2))
        clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES]
        clusters.green.run_once()
        clusters.work(row)
        first = [name for name, state in states(row).items() if state != STATE.WAITING]
        pause_hand_over(make_alice(), row.public_id)
        clusters.work(row)
        resume_hand_over(make_alice(), row.public_id)
        start_next_wave(make_alice(), row.public_id)
        clusters.work(row)
        second = [name for name, state in states(row).items() if state != STATE.WAITING]

    assert row.wave_count == 3
    assert (first, second) == (NAMES[:2], NAMES[:4])


def test_more_names_than_one_transfer_may_change_go_by_several(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE, max_transfer_count=4) as clusters:
        row = clusters.begin()
        clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES]
        clusters.green.run_once()
        clusters.work(row)

        assert clusters.owners() == {BLUE: 0, GREEN: 6}
    assert sorted(Transfer.objects.values_list("item_count", flat=True)) == [2, 4]


def test_a_name_that_the_provider_does_not_show_waits_for_who_creates_it(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin()
        RecordSet.objects.filter(name=NAMES[0]).update(missing_since=fetch_now())
        clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
        clusters.green.run_once()
        advance_hand_over(row.pk)
        meanwhile = states(row)[NAMES[0]]
        RecordSet.objects.filter(name=NAMES[0]).update(missing_since=None)
        clusters.work(row)

    assert meanwhile == STATE.WAITING
    assert states(row)[NAMES[0]] == STATE.MOVED


def test_a_name_whose_transfer_was_rejected_is_tried_again_after_a_resume(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        row = clusters.begin(names=(NAMES[0],))
        clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
        clusters.green.run_once()
        HandOver.objects.update(next_run_at=None)
        advance_hand_over(row.pk)
        cancel_transfer(make_alice(), Transfer.objects.get().public_id, reason="Wait.")
        clusters.work(row)
        failed = row.items.get()
        pause_hand_over(make_alice(), row.public_id)
        resume_hand_over(make_alice(), row.public_id)
        clusters.work(row)

    assert failed.state == STATE.FAILED
    assert "ended as cancelled" in failed.reason
    assert states(row)[NAMES[0]] == STATE.MOVED


def test_nobody_approves_their_own_and_both_instances_must_be_guarded(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        request = clusters.build_request()
        row = request_hand_over(make_alice(), request)
        with pytest.raises(NotAllowed):
            approve_hand_over(make_alice(), row.public_id, fingerprint=row.fingerprint)
        GuardEndpoint.objects.filter(slug="blue").update(mode=GuardEndpoint.Mode.OBSERVE)
        with pytest.raises(RefusedBySafety, match="The instance blue of blue-cluster has no guard endpoint"):
            approve_hand_over(make_bob(), row.public_id, fingerprint=row.fingerprint)
        with pytest.raises(RefusedBySafety, match="no guard endpoint"):
            request_hand_over(make_alice(), request)

    row.refresh_from_db()
    assert row.status == STATUS.REQUESTED


@pytest.mark.parametrize("policy", ["create-only", "upsert-only"])
def test_a_new_owner_that_never_replaces_anything_is_refused(tmp_path: Path, policy: str) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        Instance.objects.filter(owner__owner_id=GREEN).update(policy=policy)

        with pytest.raises(RefusedBySafety, match="could not replace"):
            request_hand_over(make_alice(), clusters.build_request())


def test_a_pinned_name_waits_for_the_end_of_the_pin_and_everybody_is_told(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        pin = Freeze.objects.create(
            kind="pin", names=[NAMES[0]], reason="Stop.", starts_at=fetch_now(), created_by="alice"
        )
        row = clusters.begin()
        clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES[:2]]
        clusters.green.run_once()
        clusters.work(row)
        pinned = states(row)
        facts = {each.item.name: each for each in fetch_item_facts(row, row.items.order_by("name")[:2])}
        page = sign_in(make_administrator()).get(reverse("admin:registry_app_handover_change", args=[row.pk]))
        pin.delete()
        clusters.work(row)

        assert (pinned[NAMES[0]], pinned[NAMES[1]]) == (STATE.BLOCKED, STATE.MOVED)
        assert facts[NAMES[0]].item.reason.startswith("A: The guard keeps it from the instance")
        assert f"{NAMES[0]} is pinned (Stop.)" in facts[NAMES[0]].kept
        assert facts[NAMES[1]].kept == ""
        assert "Kept by the guard:" in page.content.decode()
        assert states(row)[NAMES[0]] == STATE.MOVED
