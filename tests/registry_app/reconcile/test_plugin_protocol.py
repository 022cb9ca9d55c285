"""A provider that speaks the plugin protocol is synced, probed and written to as any other."""

import pytest

from providers.client.protocol_clients import PluginClient
from registry_app.inventory.provider_probe import probe_provider
from registry_app.mirror.client import build_client
from registry_app.models import Finding, Provider, Transfer
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator, make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    enter_world,
    make_actor,
    make_alice,
    owners,
    request,
    undo_reviewed,
)
from tests.servers.provider_server import PluginServer, WebhookServer

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


def test_its_records_are_mirrored_and_nothing_is_found_wrong_with_its_answers() -> None:
    with ReferenceProvider(make_zone(BLUE, 10), server_type=PluginServer) as reference:
        world = enter_world(reference, "plugin-zone", protocol=Provider.Protocol.PLUGIN)

        assert world.provider.record_set_count == 10
        assert world.owner_of("app-00000.example.org") == BLUE
        assert not Finding.objects.filter(kind=Finding.Kind.WRONG_CONTENT_TYPE).exists()
        with build_client(world.provider) as client:
            assert isinstance(client, PluginClient)


def test_ownership_moves_there_and_back_to_the_byte() -> None:
    alice = make_alice()
    with ReferenceProvider(make_zone(BLUE, 10), server_type=PluginServer) as reference:
        world = enter_world(reference, "plugin-zone", protocol=Provider.Protocol.PLUGIN)
        before = reference.zone_bytes()

        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        moved = owners(world)
        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert moved == {GREEN: 10}
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert reference.zone_bytes() == before


@pytest.mark.parametrize("spoken", list(Provider.Protocol))
def test_a_probe_in_the_wrong_protocol_names_the_right_one(spoken: Provider.Protocol) -> None:
    root = make_actor(make_administrator())
    wrong = next(each for each in Provider.Protocol if each != spoken)
    server_type = PluginServer if spoken == Provider.Protocol.PLUGIN else WebhookServer
    with ReferenceProvider(make_zone(BLUE, 3), server_type=server_type) as reference:
        provider = make_provider(url=reference.url, protocol=wrong)

        report = probe_provider(root, provider.pk)

    provider.refresh_from_db()
    assert not report.is_ok
    assert f"It speaks the {spoken.value} protocol" in report.error
    assert provider.protocol == wrong
