"""Adopt, release, re-format and clean-up: the same engine, the same proof, the same undo."""

import pytest

from providers.registries.claim import TxtProfile
from providers.wire.change_set import ChangeSet
from registry_app.actor import Actor
from registry_app.models import Claim, RegistryProfile, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    owners,
    plan,
    register_owner,
    request,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

WWW = "www.example.org"
LEGACY = '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/www"'


def run_verified(transfer: Transfer) -> None:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason


def undo(world: World, actor: Actor, transfer: Transfer) -> None:
    text = preview_undo(actor, transfer.public_id).confirmation_text
    run_verified(undo_reviewed(actor, transfer.public_id, reason="Back.", confirmation=text))


def test_it_adopts_an_unmanaged_record_set() -> None:
    alice = make_alice()
    with open_world([make_record(WWW)]) as world:
        before = world.reference.zone_bytes()

        transfer = request(alice, ask("adopt", Selection(names=(WWW,))))
        run_verified(transfer)

        assert world.claim_text(f"a-{WWW}") == f'"heritage=external-dns,external-dns/owner={GREEN}"'
        assert world.owner_of(WWW) == GREEN
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before
        assert world.owner_of(WWW) == "unmanaged"


@pytest.mark.deep
def test_it_does_not_adopt_over_a_foreign_txt_record() -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_record(f"a-{WWW}", "TXT", ('"v=spf1 -all"',))]):
        found = plan(alice, ask("adopt", Selection(names=(WWW,))))

        assert [refusal.code for refusal in found.refusals] == ["txt_name_taken"]


def test_it_releases_a_record_set_and_the_record_stays() -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.reference.zone_bytes()
        records = [each for each in world.reference.endpoints() if each.record_type != "TXT"]

        transfer = request(alice, ask("release"))
        run_verified(transfer)

        assert list(world.reference.endpoints()) == records
        assert world.owner_of("app-00001.example.org") == "unmanaged"
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before


def test_it_rewrites_a_legacy_claim_to_one_claim_for_each_type() -> None:
    alice = make_alice()
    zone = [
        make_record(WWW),
        make_record(WWW, "MX", ("10 mail.example.org",)),
        make_record(WWW, "TXT", (LEGACY,), ttl=600),
    ]
    with open_world(zone, batch_size=1) as world:
        before = world.reference.zone_bytes()

        transfer = request(alice, ask("reformat"))
        run_verified(transfer)

        assert sorted(name for name, kind in world.zone() if kind == "TXT") == [f"a-{WWW}", f"mx-{WWW}"]
        assert world.claim_text(f"a-{WWW}") == world.claim_text(f"mx-{WWW}") == LEGACY
        assert world.zone()[f"a-{WWW}", "TXT"].record_ttl == 600
        # Both new claims before the one they replace goes: no record set is ever without a claim (I10).
        first, second = world.change_sets()
        assert (len(first.create), len(first.delete), len(second.delete)) == (2, 0, 1)
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_a_shared_legacy_claim_is_never_moved_for_one_type_alone() -> None:
    alice = make_alice()
    zone = [
        make_record(WWW),
        make_record(WWW, "MX", ("10 mail.example.org",)),
        make_record(WWW, "TXT", (LEGACY,)),
    ]
    with open_world(zone):
        for kind in ("transfer", "release", "reformat"):
            found = plan(alice, ask(kind, Selection(names=(WWW,), record_types=("A",)), whole_names=False))

            assert [refusal.code for refusal in found.refusals] == ["shared_claim"], kind


@pytest.mark.deep
def test_it_moves_a_superseded_legacy_claim_along() -> None:
    alice = make_alice()
    zone = [make_record(WWW), make_claim(WWW), make_record(WWW, "TXT", (LEGACY,))]
    with open_world(zone) as world:
        run_verified(request(alice, ask()))

        assert f"owner={GREEN}," in world.claim_text(WWW)
        assert f"owner={GREEN}" in world.claim_text(f"a-{WWW}")


def test_it_cleans_up_claims_that_decide_nothing() -> None:
    alice = make_alice()
    zone = [
        make_record(WWW),
        make_claim(WWW),
        make_record(WWW, "TXT", (LEGACY,)),
        make_claim("gone.example.org"),
    ]
    with open_world(zone) as world:
        before = world.reference.zone_bytes()
        ids = tuple(Claim.objects.exclude(verdict="effective").values_list("pk", flat=True))

        transfer = request(alice, ask("clean_up", Selection(claim_ids=ids)))
        run_verified(transfer)

        assert [key for key in world.zone() if key[1] == "TXT"] == [(f"a-{WWW}", "TXT")]
        assert world.owner_of(WWW) == BLUE
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_it_never_cleans_up_a_claim_that_decides() -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_claim(WWW)]):
        ids = tuple(Claim.objects.values_list("pk", flat=True))

        found = plan(alice, ask("clean_up", Selection(claim_ids=ids)))

        assert [refusal.code for refusal in found.refusals] == ["claim_decides"]


@pytest.mark.deep
def test_an_orphan_of_an_owner_nobody_registered_has_to_be_confirmed() -> None:
    alice = make_alice()
    with open_world([make_claim("gone.example.org", owner="stranger")]):
        ids = tuple(Claim.objects.values_list("pk", flat=True))

        found = plan(alice, ask("clean_up", Selection(claim_ids=ids)))
        register_owner("stranger")
        vouched_for = plan(alice, ask("clean_up", Selection(claim_ids=ids)))

        assert found.confirmation_text == "clean up 1 record set"
        assert "prefix or suffix" in found.items[0].verdict_reason
        assert vouched_for.confirmation_text == ""


@pytest.mark.deep
def test_a_clean_up_is_stale_if_the_record_set_came_back() -> None:
    alice = make_alice()
    with open_world([make_claim(WWW)]) as world:
        transfer = request(alice, ask("clean_up"))
        world.reference.backend.apply(ChangeSet(create=(make_record(WWW),)))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert world.change_sets() == []


@pytest.mark.deep
def test_a_transfer_settles_a_conflict_once_that_was_typed() -> None:
    alice = make_alice()
    zone = [
        make_record(WWW),
        make_claim(WWW, owner=BLUE),
        make_claim(WWW, owner=GREEN, profile=TxtProfile(prefix="x.")),
    ]
    with open_world(zone, prepare=lambda _: _register_prefix("x.")) as world:
        before = world.reference.zone_bytes()
        selection = Selection(names=(WWW,))
        found = plan(alice, ask(selection=selection))
        assert world.owner_of(WWW) == "conflict"

        transfer = request(alice, ask(selection=selection, confirmation=found.confirmation_text))
        run_verified(transfer)

        assert found.confirmation_text == "transfer 1 record set to green-cluster"
        assert owners(world) == {GREEN: 2}
        assert world.owner_of(WWW) == GREEN
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_a_claim_of_the_target_behind_anothers_takes_its_place() -> None:
    alice = make_alice()
    blue = '"heritage=external-dns,external-dns/owner=blue-cluster"'
    green = '"heritage=external-dns,external-dns/owner=green-cluster,external-dns/resource=ingress/x/www"'
    with open_world([make_record(WWW), make_record(f"a-{WWW}", "TXT", (blue, green))]) as world:
        before = world.reference.zone_bytes()
        assert world.owner_of(WWW) == BLUE

        transfer = request(alice, ask(selection=Selection(names=(WWW,))))
        run_verified(transfer)

        assert world.zone()[f"a-{WWW}", "TXT"].targets == (green,)
        assert world.owner_of(WWW) == GREEN
        undo(world, alice, transfer)
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_an_ignored_claim_of_another_stays_as_it_is() -> None:
    alice = make_alice()
    legacy = make_record(WWW, "TXT", make_claim(WWW, owner="red-cluster").targets)
    with open_world([make_record(WWW), make_claim(WWW, owner=BLUE), legacy]) as world:
        transfer = request(alice, ask(selection=Selection(names=(WWW,), record_types=("A",))))
        run_verified(transfer)

        assert owners(world) == {GREEN: 1, "red-cluster": 1}
        assert world.owner_of(WWW) == GREEN
        asked = ask("clean_up", Selection(name_suffix="example.org"))
        request_confirmed = ask(
            "clean_up", asked.selection, confirmation=plan(alice, asked).confirmation_text
        )
        run_verified(request(alice, request_confirmed))
        assert owners(world) == {GREEN: 1}


@pytest.mark.deep
def test_foreign_text_beside_a_claim_stays_in_its_place() -> None:
    alice = make_alice()
    spf = '"v=spf1 -all"'
    with open_world([make_record(WWW), make_record(f"a-{WWW}", "TXT", (LEGACY, spf))]) as world:
        transfer = request(alice, ask(selection=Selection(names=(WWW,), record_types=("A",))))
        run_verified(transfer)

        moved = LEGACY.replace(BLUE, GREEN)
        assert world.zone()[f"a-{WWW}", "TXT"].targets == (moved, spf)
        undo(world, alice, transfer)
        assert world.zone()[f"a-{WWW}", "TXT"].targets == (LEGACY, spf)


def _register_prefix(prefix: str) -> None:
    RegistryProfile.objects.create(name=f"prefix {prefix}", prefix=prefix)
