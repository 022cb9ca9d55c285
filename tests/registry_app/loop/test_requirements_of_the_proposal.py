"""The six requirements of the registry proposal, and its two notes, each shown by a loop that runs here."""

import pytest

from registry_app.loop.run_loop import run_loop
from registry_app.models import LoopRun, Owner, RegistryProfile
from registry_app.queries.loop import due_loops
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.loop.world import (
    API,
    BYSTANDERS,
    PARKED,
    WWW,
    declare,
    names_changed,
    open_parking,
    owned,
    run,
    wanted,
)
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, register_owner, request

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True), pytest.mark.deep]


def test_1_pre_existing_records_are_not_modified() -> None:
    pre_existing = make_record(WWW, targets=["192.0.2.9"])
    with open_parking([pre_existing]) as world:
        before = world.reference.zone_bytes()

        ended = run(world, [wanted(WWW, "192.0.2.1"), wanted(WWW, "2001:db8::1", record_type="AAAA")])

        assert world.change_sets() == []
        assert world.reference.zone_bytes() == before
        assert {each["reason"] for each in ended.left_alone} == {
            "It is not ours to update: nobody owns it.",
            "A record set at its name is not ours: nobody owns it.",
        }


def test_2_an_instance_touches_only_what_it_created() -> None:
    with open_parking() as world:
        before = world.zone()

        run(world, [wanted(WWW), wanted("shop.example.org", "192.0.2.66")])
        created = set(world.zone()) - set(before)
        run(world, [wanted(WWW, "192.0.2.2"), wanted("shop.example.org", "192.0.2.67")])
        run(world, [wanted(API)], confirmation="")

        touched = {each for change_set in world.change_sets() for each in names_changed(change_set)}
        mine = {(WWW, "A"), (f"a-{WWW}", "TXT"), (API, "A"), (f"a-{API}", "TXT")}
        assert created == {(WWW, "A"), (f"a-{WWW}", "TXT")}
        assert touched == mine
        assert {key: each for key, each in world.zone().items() if key not in mine} == before


def test_3_ownership_can_be_transferred_to_another_instance() -> None:
    alice = make_alice()
    with open_parking() as world:
        register_owner(GREEN)
        run(world, [wanted(WWW, "192.0.2.7")])
        world.sync()

        moved = request(alice, ask(selection=Selection(owner_id=PARKED)))
        run_transfer(moved.pk)
        before = world.reference.zone_bytes()
        theirs = run(world, [], owner_id=PARKED)
        taken = run(world, [wanted(WWW, "192.0.2.8")], owner_id=GREEN)

        assert theirs.status == LoopRun.Status.UNCHANGED
        assert before != world.reference.zone_bytes()
        assert (taken.status, taken.updated) == (LoopRun.Status.VERIFIED, 1)
        assert f"owner={GREEN}" in world.claim_text(f"a-{WWW}")


def test_4_the_noop_registry_disables_ownership() -> None:
    profile = RegistryProfile.objects.create(name="none", kind="noop")
    desired = [wanted(each.dns_name, *each.targets) for each in BYSTANDERS if each.record_type == "A"]
    desired[-1] = wanted("mail.example.org", "192.0.2.26")
    with open_parking() as world:
        register_owner(PARKED, registry_profile=profile)

        asked = run(world, [*desired, wanted(WWW)])
        ended = run(world, [*desired, wanted(WWW)], confirmation=asked.confirmation_text)

        assert asked.status == LoopRun.Status.REFUSED
        assert ended.status == LoopRun.Status.VERIFIED, ended.reason
        (change_set,) = world.change_sets()
        assert names_changed(change_set) == {(WWW, "A"), ("mail.example.org", "A")}
        assert (f"a-{WWW}", "TXT") not in world.zone()


def test_5_records_outlive_the_instance() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        run_loop(loop.pk)
        before = world.reference.zone_bytes()

        LoopRun.objects.all().delete()
        loop.delete()
        Owner.objects.filter(owner_id=PARKED).update(status=Owner.Status.DECOMMISSIONED)
        for loop_id in due_loops():
            run_loop(loop_id)
        world.sync()

        assert (WWW, "A") in world.zone()
        assert world.reference.zone_bytes() == before
        assert world.owner_of(WWW) == PARKED


def test_6_every_instance_marks_its_records_with_its_own_owner_id() -> None:
    with open_parking() as world:
        register_owner(GREEN)

        run(world, [wanted(WWW)], owner_id=PARKED)
        run(world, [wanted(API)], owner_id=GREEN)

        assert f"owner={PARKED}" in world.claim_text(f"a-{WWW}")
        assert f"owner={GREEN}" in world.claim_text(f"a-{API}")
        for owner_id in (PARKED, GREEN):
            wish = wanted(WWW) if owner_id == PARKED else wanted(API)
            assert run(world, [wish], owner_id=owner_id).status == LoopRun.Status.UNCHANGED


def test_note_1_changes_go_in_batches_a_record_with_its_claim() -> None:
    with open_parking() as world:
        run(world, [wanted(f"app-{number}.example.org") for number in range(50)])

        (change_set,) = world.change_sets()
        kinds = [each.record_type for each in change_set.create]
        assert (kinds.count("A"), kinds.count("TXT")) == (50, 50)


def test_note_2_what_does_not_exist_is_created_and_never_upserted() -> None:
    with open_parking(owned(WWW, "192.0.2.7")) as world:
        run(world, [wanted(WWW, "192.0.2.8"), wanted(API)])

        (change_set,) = world.change_sets()
        assert {each.dns_name for each in change_set.create} == {API, f"a-{API}"}
        assert [each.dns_name for each in change_set.update_old] == [WWW]
        assert change_set.update_old[0].targets == ("192.0.2.7",)


def test_an_orphaned_claim_of_another_keeps_a_record_from_being_made() -> None:
    with open_parking([make_claim(WWW, owner=BLUE)]) as world:
        ended = run(world, [wanted(WWW)])

        assert world.change_sets() == []
        assert [each["reason"] for each in ended.left_alone] == [
            f"An orphaned claim names {BLUE} as its owner: clean it up first."
        ]
