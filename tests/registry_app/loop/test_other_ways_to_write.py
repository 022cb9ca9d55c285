"""The same loop over another protocol, another TXT format, and another spelling of the protocol's keys."""

import pytest

from providers.registries.pairing import pair
from registry_app.mirror.registries import build_txt_profile
from registry_app.models import LoopRun, Provider, RegistryProfile
from tests.reference_server import ReferenceProvider
from tests.registry_app.loop.world import BYSTANDERS, OLD, PARKED, WWW, open_parking, owned, run, wanted
from tests.registry_app.transfer.world import enter_world, register_owner
from tests.servers.provider_server import PluginServer

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status


def test_a_provider_of_the_plugin_protocol_is_planned_for_and_written_to() -> None:
    with ReferenceProvider([*BYSTANDERS, *owned(OLD)], server_type=PluginServer) as reference:
        world = enter_world(reference, "plugin-zone", protocol=Provider.Protocol.PLUGIN)
        register_owner(PARKED)

        ended = run(world, [wanted(WWW)])

        assert (ended.status, ended.created, ended.deleted) == (STATUS.VERIFIED, 1, 1), ended.reason
        assert run(world, [wanted(WWW)]).status == STATUS.UNCHANGED


def test_claims_are_written_and_removed_as_the_owners_profile_says() -> None:
    profile = RegistryProfile.objects.create(name="sealed", prefix="own-", encryption_key="k" * 32)
    with open_parking() as world:
        register_owner(PARKED, registry_profile=profile)

        made = run(world, [wanted(WWW)])
        zone = world.reference.endpoints()
        again = run(world, [wanted(WWW)])
        gone = run(world, [wanted(OLD)])

        assert (made.status, again.status, gone.status) == (
            STATUS.VERIFIED,
            STATUS.UNCHANGED,
            STATUS.VERIFIED,
        )
        (claim,) = (each for each in zone if each.dns_name == f"own-a-{WWW}")
        assert "heritage" not in claim.targets[0]
        owners = {each.key.name: each.owner_id for each in pair(zone, [build_txt_profile(profile)]).records}
        assert owners[WWW] == PARKED
        assert (f"own-a-{WWW}", "TXT") not in world.zone()


def test_a_provider_of_before_may_2025_gets_its_own_spelling() -> None:
    with open_parking(capitalized_changes=True) as world:
        ended = run(world, [wanted(WWW)])

        (asked,) = world.reference.history.requests("POST /records")
        assert asked.body.startswith(b'{"Create":')
        assert ended.status == STATUS.VERIFIED


def test_a_wildcard_and_its_namesake_never_share_a_claim_unnoticed() -> None:
    profile = RegistryProfile.objects.create(name="wild", wildcard_replacement="any")
    desired = [wanted("*.example.org"), wanted("any.example.org", "192.0.2.2")]
    with open_parking(batch_size=1) as world:
        register_owner(PARKED, registry_profile=profile)

        run(world, desired)
        again = run(world, desired)

        assert again.status == STATUS.UNCHANGED
        assert {world.zone()[each.dns_name, "A"].targets for each in desired} == {
            ("192.0.2.1",),
            ("192.0.2.2",),
        }
