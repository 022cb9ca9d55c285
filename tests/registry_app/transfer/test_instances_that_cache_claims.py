"""Instances that act on claims they read before: the preview says which, and for how long."""

import pytest

from registry_app.models import Owner, Transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_instance, set_instance
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, open_world, plan, request

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


def _owner(owner_id: str) -> Owner:
    return Owner.objects.get(owner_id=owner_id)


def test_the_preview_says_how_long_an_instance_of_the_former_owner_may_still_act() -> None:
    alice = make_alice()
    with open_world():
        make_instance(_owner(BLUE), "east", policy="sync", claim_cache_seconds=300)
        make_instance(_owner(BLUE), "west", claim_cache_seconds=900, domain_include=["example.net"])

        moved, released = plan(alice, ask()), plan(alice, ask("release"))

    for found in (moved, released):
        reasons = {item.verdict_reason for item in found.included}
        assert all(
            "The instance east of blue-cluster may still change or delete it" in each for each in reasons
        )
        assert all("up to 300 s" in each and "900 s" not in each for each in reasons)
        [warning] = found.warnings
        assert (warning.code, warning.is_warning) == ("former_owner_caches_claims", True)
        assert "east of blue-cluster for up to 300 s" in warning.happened
        assert "Restart them" in warning.todo


def test_the_preview_says_how_long_an_instance_of_the_new_owner_may_not_see_its_claim() -> None:
    alice = make_alice()
    with open_world():
        set_instance(GREEN, policy="sync", claim_cache_seconds=60)

        found = plan(alice, ask())

    assert {item.verdict for item in found.included} == {"no_op"}
    assert all("may not see the new claim for up to 60 s" in item.verdict_reason for item in found.included)
    assert [each.code for each in found.warnings] == ["new_owner_caches_claims"]


def test_there_is_no_warning_for_instances_without_a_cache_or_with_an_unknown_one() -> None:
    alice = make_alice()
    with open_world():
        make_instance(_owner(BLUE), "east", claim_cache_seconds=0)
        make_instance(_owner(GREEN), "west")

        assert plan(alice, ask()).warnings == ()


def test_an_approval_rests_on_how_long_a_former_owner_may_still_act() -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        transfer = request(alice, ask())

        set_instance(BLUE, claim_cache_seconds=300)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert "former owner uses cached claims" in transfer.status_reason
        assert world.change_sets() == []
