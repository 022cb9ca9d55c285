"""Ownership that moves within and between registries: the new claim first, and an undo gives back all."""

import pytest

from providers.wire.canonical_name import endpoint_key
from registry_app.models import Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.registries import heritage, make_profile
from tests.registry_app.transfer.two_registries import CROSSINGS, KINDS, PAIRS, RECORDS, RING, open_two, undo
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    plan,
    register_owner,
    request,
)

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_transfer_gives_every_claim_to_the_target_in_the_targets_registry(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        before = two.contents()
        transfer = request(alice, ask())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        wanted = {endpoint_key(each): [heritage(GREEN, each.dns_name)] for each in RECORDS}
        assert two.claims() == wanted
        assert two.green.claims() == wanted
        assert {two.world.owner_of(each.dns_name, each.record_type) for each in RECORDS} == {GREEN}
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before
        assert two.world.owner_of("www.example.org") == BLUE


@pytest.mark.parametrize("kind", KINDS)
def test_what_nobody_owns_is_adopted_in_the_targets_registry(kind: str) -> None:
    alice = make_alice()
    with open_two("txt", kind, is_claimed=False) as two:
        before = two.contents()
        asked = Selection(name_suffix="example.org", states=("unmanaged",))
        text = plan(alice, ask("adopt", asked)).confirmation_text
        transfer = request(alice, ask("adopt", asked, confirmation=text))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        claim = f"heritage=external-dns,external-dns/owner={GREEN}"
        assert two.green.claims() == {endpoint_key(each): [claim] for each in RECORDS}
        assert two.world.owner_of("www.example.org", "AAAA") == GREEN
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_released_record_set_has_no_claim_anywhere_and_stays_as_it_is(kind: str) -> None:
    alice = make_alice()
    with open_two(kind, "txt") as two:
        before = two.contents()
        transfer = request(alice, ask("release"))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert two.claims() == {}
        assert two.world.owner_of("www.example.org") == "unmanaged"
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_an_owner_whose_registry_is_another_by_now_is_reformatted_into_it(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        before = two.contents()
        register_owner(BLUE, registry_profile=two.green.profile(two.world.provider))
        transfer = request(alice, ask("reformat"))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        wanted = {endpoint_key(each): [heritage(BLUE, each.dns_name)] for each in RECORDS}
        assert two.claims() == two.green.claims() == wanted
        again = [refusal.code for refusal in plan(alice, ask("reformat")).refusals]
        assert again == ["nothing_to_do"]
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before


@pytest.mark.parametrize(("source", "target"), RING)
def test_claims_of_one_owner_in_two_registries_become_one_of_the_target(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target, also=BLUE) as two:
        before = two.contents()
        transfer = request(alice, ask())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        wanted = {endpoint_key(each): [heritage(GREEN, each.dns_name)] for each in RECORDS}
        assert two.claims() == two.green.claims() == wanted
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before


@pytest.mark.parametrize(("source", "target"), RING)
def test_registries_that_disagree_are_settled_for_the_target(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target, also=GREEN) as two:
        before = two.contents()
        assert two.world.owner_of("www.example.org") == "conflict"
        asked = Selection(name_suffix="example.org", states=("conflict",))
        text = plan(alice, ask(selection=asked)).confirmation_text
        transfer = request(alice, ask(selection=asked, confirmation=text))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert set(transfer.steps.values_list("phase", flat=True)) == {"remove"}
        wanted = {endpoint_key(each): [heritage(GREEN, each.dns_name)] for each in RECORDS}
        assert two.claims() == two.green.claims() == wanted
        undone = undo(alice, transfer)
        assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
        assert two.contents() == before


def test_nothing_is_given_to_an_owner_who_keeps_no_registry() -> None:
    alice = make_alice()
    with open_two("txt", "txt") as two:
        register_owner(GREEN, registry_profile=make_profile("noop", two.world.provider))

        for kind in ("transfer", "adopt"):
            found = plan(alice, ask(kind, Selection(name_suffix="example.org")))
            first = found.refusals[0]

            assert (first.code, found.included) == ("target_keeps_no_registry", ())
            assert "Release" in first.todo


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_warns_of_instances_that_do_not_notice_it(kind: str) -> None:
    alice = make_alice()
    with open_two("txt", kind):
        found = plan(alice, ask())

    warned = "instances_read_once" in [warning.code for warning in found.warnings]
    assert warned is (kind == "dynamodb")
