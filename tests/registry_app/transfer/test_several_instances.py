"""Transfers to an owner id that several instances sign with."""

from collections.abc import Callable

import pytest

from registry_app.actor import SYSTEM
from registry_app.inventory.instance import delete_instance
from registry_app.models import Owner, RegistryProfile, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_cluster, make_instance, make_provider
from tests.registry_app.transfer.world import GREEN, World, ask, make_alice, open_world, plan, request

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]


def _green() -> Owner:
    return Owner.objects.get(owner_id=GREEN)


def test_instances_that_write_claims_in_different_ways_get_nothing_until_they_agree() -> None:
    alice, profile = make_alice(), RegistryProfile.objects.create(name="edge", prefix="x-")
    with open_world():
        make_instance(_green(), "east", registry_profile=profile)
        west = make_instance(_green(), "west")

        [refusal] = plan(alice, ask()).refusals
        west.provider = make_provider("another")
        west.save()
        elsewhere = plan(alice, ask())
        west.provider, west.registry_profile = None, profile
        west.save()
        agreed = plan(alice, ask())

    assert refusal.code == "instances_disagree"
    assert "east with edge, west with ExternalDNS's defaults" in refusal.happened
    assert "the same registry profile" in refusal.todo
    assert elsewhere.refusals == ()
    assert agreed.refusals == ()
    assert {item.after[0]["dnsName"].startswith("x-") for item in agreed.included} == {True}


def test_a_reformat_is_refused_if_the_format_is_not_known() -> None:
    alice, profile = make_alice(), RegistryProfile.objects.create(name="edge", prefix="x-")
    with open_world():
        blue = Owner.objects.get(owner_id="blue-cluster")
        make_instance(blue, "east", registry_profile=profile)
        make_instance(blue, "west")

        refused = plan(alice, ask("reformat"))

    assert [each.code for each in refused.refusals] == ["instances_disagree"]


def test_the_preview_judges_each_record_set_by_the_instances_that_manage_it() -> None:
    alice = make_alice()
    with open_world() as world:
        names = sorted(world.provider.record_sets.filter(record_type="A").values_list("name", flat=True))
        make_instance(_green(), "east", policy="sync", domain_include=[names[0]])
        make_instance(_green(), "west", policy="upsert-only", domain_exclude=[names[0]])

        found = plan(alice, ask(target_intent="not_wanted", selection=Selection(names=tuple(names[:2]))))

    verdicts = {item.name: item for item in found.included}
    assert (verdicts[names[0]].verdict, verdicts[names[1]].verdict) == ("delete", "no_op")
    assert "the instance east of green-cluster runs with policy sync" in verdicts[names[0]].verdict_reason
    assert "The instance west of green-cluster does not act" in verdicts[names[0]].verdict_reason
    assert found.confirmation_text


def _change(**values: object) -> Callable[[], object]:
    return lambda: _green().instances.update(**values)


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (_change(policy="upsert-only"), "policy of green-cluster"),
        (_change(domain_include=["example.net"]), "domain filter of green-cluster"),
        (_change(managed_types=["A"]), "managed types of green-cluster"),
        (_change(claim_cache_seconds=60), "claim cache of green-cluster"),
        (lambda: make_instance(_green(), "west"), "policy of green-cluster"),
        (lambda: delete_instance(SYSTEM, _green().instances.get().pk), "policy of green-cluster"),
    ],
)
def test_an_approval_rests_on_what_the_instances_say(move: Callable[[], object], said: str) -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        make_instance(_green(), "east", policy="create-only", cluster=make_cluster("east"))
        transfer = request(alice, ask())
        assert transfer.status == Transfer.Status.APPROVED

        move()
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert f"The {said} changed after this was reviewed" in transfer.status_reason
        assert world.change_sets() == []


def test_what_an_instance_at_another_provider_says_moves_nothing_here() -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        elsewhere = make_instance(_green(), "west", provider=make_provider("another"))
        transfer = request(alice, ask())

        elsewhere.policy = "sync"
        elsewhere.save()
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED
        assert _moved(world) == 10


def _moved(world: World) -> int:
    return world.provider.record_sets.filter(owner__owner_id="blue-cluster").count() or sum(
        "owner=green-cluster" in each.targets[0]
        for each in world.reference.endpoints()
        if each.record_type == "TXT"
    )
