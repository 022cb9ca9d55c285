"""The database is put back to an earlier state under a running system: nothing is sent again by itself."""

import shutil
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.errors import NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import (
    AuditEntry,
    Finding,
    Generation,
    HeldSnapshot,
    LoopRun,
    LoopStep,
    Provider,
    SyncRun,
    Transfer,
)
from registry_app.outside_copy import fetch_knowledge, find_copy_ahead, store_copy
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.request_sync import request_sync
from registry_app.reconcile.sync import sync_provider
from registry_app.restore.accept_restored import accept_all_restored, accept_restored
from registry_app.restore.note_restore import note_restore_if_any
from registry_app.tasks import sweep
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.loop.world import declare, open_parking, run_declared, wanted
from tests.registry_app.restore.rewinding import put_back, save_database
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    approve,
    ask,
    make_alice,
    make_bob,
    make_person,
    open_world,
    owners,
    request,
    undo_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_PERSON = Provider.ApprovalPolicy.OTHER_PERSON


def _approved(world: World) -> Transfer:
    transfer = request(make_alice(), ask())
    return approve(make_bob(), transfer)


def _run_and_undo(world: World, transfer: Transfer) -> None:
    run_transfer(transfer.pk)
    assert owners(world) == {GREEN: 10}
    undo = undo_reviewed(make_alice(), transfer.public_id, reason="Back.", confirmation="undo 10 record sets")
    approve(make_bob(), undo)
    run_transfer(undo.pk)
    assert owners(world) == {BLUE: 10}
    sweep()


@pytest.mark.deep
def test_what_was_approved_in_the_backup_ended_and_is_not_sent_again(tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = _approved(world)
        save_database(tmp_path / "saved")
        _run_and_undo(world, transfer)
        written_once = fetch_knowledge().sequence
        sent = len(world.change_sets())

        put_back(tmp_path / "saved")
        run_transfer(transfer.pk)  # a worker that has not noticed yet
        sweep()
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert len(world.change_sets()) == sent
        assert owners(world) == {BLUE: 10}
        assert transfer.status == Transfer.Status.STALE
        assert "restored" in transfer.status_reason
        entry = AuditEntry.objects.get(action="database.restored")
        assert entry.after is not None
        cut = entry.after["audit_cut"]
        assert (cut["from"], cut["to"]) == (entry.sequence, written_once)
        assert AuditEntry.objects.filter(action="transfer.stale").count() == 1
        assert Generation.objects.get().number == 2
        finding = Finding.objects.get(kind=Finding.Kind.DATABASE_RESTORED)
        assert finding.state == Finding.State.OPEN


def test_nothing_is_sent_until_somebody_accepted_the_next_snapshot(tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = _approved(world)
        save_database(tmp_path / "saved")
        _run_and_undo(world, transfer)
        put_back(tmp_path / "saved")
        assert note_restore_if_any()
        alice, charlie = make_alice(), make_person("charlie")
        sent = len(world.change_sets())

        with pytest.raises(RefusedBySafety, match="no snapshot since"):
            accept_restored(alice, world.provider.pk, reason="Too early.")
        world.sync()
        again = request(alice, ask())
        with pytest.raises(RefusedBySafety, match="restored"):
            approve(make_bob(), again)
        with pytest.raises(NotAllowed):
            accept_restored(charlie, world.provider.pk, reason="Not mine.")
        assert len(world.change_sets()) == sent
        accept_restored(alice, world.provider.pk, reason="Seen: as it was.")
        approve(make_bob(), again)
        run_transfer(again.pk)

        assert owners(world) == {GREEN: 10}
        assert AuditEntry.objects.filter(action="provider.accepted_after_restore").count() == 1
        assert not Finding.objects.filter(
            kind=Finding.Kind.DATABASE_RESTORED, state=Finding.State.OPEN
        ).exists()
        assert not note_restore_if_any()


def _accept_what_was_held(world: World) -> None:
    """Beside the old mirror all has another owner by now: held, and a person's decision of its own."""
    sync_provider(world.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
    with pytest.raises(RefusedBySafety, match="is held"):
        accept_restored(make_alice(), world.provider.pk, reason="Too early.")
    held = HeldSnapshot.objects.get(provider=world.provider)
    accept_held_snapshot(make_alice(), held.pk, reason="It was moved.")
    world.sync()


@pytest.mark.deep
def test_all_are_accepted_in_one_act_but_for_those_without_a_snapshot(tmp_path: Path) -> None:
    with (
        open_world(name="one", approval_policy=OTHER_PERSON) as first,
        open_world(name="two", approval_policy=OTHER_PERSON) as second,
    ):
        save_database(tmp_path / "saved")
        only = Selection(owner_id=BLUE, provider_id=first.provider.pk)
        run_transfer(approve(make_bob(), request(make_alice(), ask(selection=only))).pk)
        put_back(tmp_path / "saved")
        note_restore_if_any()
        _accept_what_was_held(first)

        accepted, left = accept_all_restored(make_alice(), reason="The drill.")

        assert [provider.name for provider in accepted] == ["one"]
        assert [provider.name for provider, _ in left] == ["two"]
        second.provider.refresh_from_db()
        assert second.provider.restored_at is not None
        with pytest.raises(StateMoved):
            accept_restored(make_alice(), first.provider.pk, reason="Twice.")


@pytest.mark.deep
@pytest.mark.parametrize("lost", ["file", "redis"])
def test_one_of_the_two_copies_is_enough(lost: str, tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        save_database(tmp_path / "saved")
        run_transfer(_approved(world).pk)
        _lose(lost)
        put_back(tmp_path / "saved")

        assert note_restore_if_any()
        world.provider.refresh_from_db()
        assert world.provider.restored_at is not None


@pytest.mark.deep
def test_a_missing_copy_never_means_restored(tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        run_transfer(_approved(world).pk)
        _lose("file")
        _lose("redis")

        assert not note_restore_if_any()
        assert not note_restore_if_any()
        world.provider.refresh_from_db()
        assert world.provider.restored_at is None


@pytest.mark.deep
def test_a_database_that_went_on_after_it_was_restored_is_known_too(tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        save_database(tmp_path / "saved")
        run_transfer(_approved(world).pk)
        copied = fetch_knowledge()
        put_back(tmp_path / "saved")
        # More was written since than was lost: the numbers alone would not tell.
        Generation.objects.update(sends=copied.sends)
        while fetch_knowledge().sequence <= copied.sequence:
            request_sync(make_alice(), world.provider.pk)

        assert note_restore_if_any()


@pytest.mark.deep
def test_an_older_copy_and_one_that_somebody_else_wrote_mean_nothing(tmp_path: Path) -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        store_copy(fetch_knowledge())
        run_transfer(_approved(world).pk)
        assert not note_restore_if_any()
        (path,) = (Path(settings.DNSADMIN_STATE_DIR) / "outside-copies").glob("*.json")
        path.write_text(path.read_text().replace('"generation": 1', '"generation": 9'))

        assert not note_restore_if_any()
        assert owners(world) == {GREEN: 10}


@pytest.mark.deep
def test_a_loop_and_its_run_under_way_send_nothing_after_a_restore(tmp_path: Path) -> None:
    with open_parking() as world:
        loop = declare(world, [wanted("www.example.org")])
        save_database(tmp_path / "saved")
        assert run_declared(loop).status == LoopRun.Status.VERIFIED
        put_back(tmp_path / "saved")
        loop = declare(world, [wanted("www.example.org"), wanted("new.example.org")])
        sent = len(world.change_sets())
        left = LoopRun.objects.create(
            loop=loop,
            owner=loop.owner,
            provider=world.provider,
            trigger=LoopRun.Trigger.SCHEDULE,
            policy=loop.policy,
            source="declared",
            epoch=1,
            started_at=timezone.now(),
        )
        LoopStep.objects.create(
            run=left, ordinal=1, change_set="{}", body_digest="0", epoch=1, stored_at=timezone.now()
        )

        unnoticed = run_declared(loop)
        sweep()
        noticed = run_declared(loop)

        left.refresh_from_db()
        assert (unnoticed.status, noticed.status) == (LoopRun.Status.REFUSED, LoopRun.Status.REFUSED)
        assert "restored" in noticed.reason
        assert left.status == LoopRun.Status.FAILED
        assert left.steps.get().status == LoopStep.Status.NOT_SENT
        assert len(world.change_sets()) == sent


def _lose(which: str) -> None:
    if which == "file":
        shutil.rmtree(Path(settings.DNSADMIN_STATE_DIR) / "outside-copies")
        return
    told = settings.CACHES["default"]
    with redis.Redis.from_url(told["LOCATION"]) as client:
        client.delete(*client.scan_iter(match=f"{told['KEY_PREFIX']}:outside-copy:*"))


def test_asking_whether_a_new_database_was_restored_writes_nothing() -> None:
    Generation.objects.all().delete()

    assert find_copy_ahead() is None
    assert not Generation.objects.exists()
