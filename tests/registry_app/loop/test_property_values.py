"""A plugin provider has a word on which property values are equal, and a run keeps to it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from providers.backends.memory import MemoryBackend
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.loop.run_loop import preview_loop
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner, Provider
from registry_app.transfer.plan.transfer_request import Selection
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_claim, make_record
from tests.registry_app.loop.world import API, BYSTANDERS, PARKED, WWW, make_request, run, wanted
from tests.registry_app.transfer.world import (
    GREEN,
    World,
    ask,
    enter_world,
    make_alice,
    plan,
    register_owner,
)
from tests.servers.provider_server import PluginServer, ProviderServer, WebhookServer

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status
CALL = "POST /propertyvaluesequal"


class _Weighing(MemoryBackend):
    """A service that knows weights as numbers, and shows them as such."""

    def records(self) -> Sequence[Endpoint]:
        return tuple(_as_shown(endpoint) for endpoint in super().records())

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return int(previous or "0") == int(current or "0")


class _WeighingProvider(ReferenceProvider):
    backend_type = _Weighing


def _as_shown(endpoint: Endpoint) -> Endpoint:
    properties = [
        ProviderSpecificProperty(each.name, str(int(each.value))) for each in endpoint.provider_specific
    ]
    return msgspec.structs.replace(endpoint, provider_specific=tuple(properties))


def _weighing(endpoint: Endpoint, weight: str) -> Endpoint:
    return msgspec.structs.replace(
        endpoint, provider_specific=(ProviderSpecificProperty("aws/weight", weight),)
    )


@contextmanager
def _open(
    server_type: type[ProviderServer] = PluginServer,
    protocol: str = Provider.Protocol.PLUGIN,
    owner_id: str = PARKED,
) -> Iterator[World]:
    """Two record sets of an owner, of weight 10, at a provider that compares numbers."""
    zone = list(BYSTANDERS)
    for name in (WWW, API):
        zone += [_weighing(make_record(name), "10"), make_claim(name, owner=owner_id)]
    with _WeighingProvider(zone, server_type=server_type, value_exact=False) as reference:
        world = enter_world(reference, "weighing", protocol=protocol)
        register_owner(PARKED)
        yield world


def _both(weight: str) -> list[Endpoint]:
    return [_weighing(wanted(name), weight) for name in (WWW, API)]


def test_what_the_provider_calls_equal_is_not_updated_and_one_pair_is_asked_once() -> None:
    with _open() as world:
        ended = run(world, _both("010"))

        assert (ended.status, ended.planned) == (STATUS.UNCHANGED, 0)
        assert world.change_sets() == []
        assert len(world.reference.history.requests(CALL)) == 1


def test_a_preview_asks_too() -> None:
    with _open() as world:
        same, _ = preview_loop(make_request(world, _both("010")))
        other, _ = preview_loop(make_request(world, _both("20")))

        assert same.changes.is_empty()
        assert len(other.changes.updates) == 2


def test_a_value_it_calls_another_is_updated_and_read_back_in_its_own_form() -> None:
    with _open() as world:
        ended = run(world, _both("020"))

        assert (ended.status, ended.updated) == (STATUS.VERIFIED, 2), ended.reason
        held = world.zone()[WWW, "A"].provider_specific
        assert held == (ProviderSpecificProperty("aws/weight", "020"),)


def test_if_it_cannot_compare_them_another_text_is_another_value() -> None:
    with _open() as world:
        for _ in range(9):
            world.reference.faults.plan(CALL, read_faults.status(500))

        ended = run(world, _both("010"))

        # Sent on our own word, for want of the provider's. What it shows of it is other text again.
        assert (ended.planned, len(world.change_sets())) == (2, 1)


def test_over_the_webhook_protocol_other_text_is_another_value() -> None:
    with _open(WebhookServer, Provider.Protocol.WEBHOOK) as world:
        shown, _ = preview_loop(make_request(world, _both("010")))

        assert len(shown.changes.updates) == 2


def test_a_transfer_to_the_loop_says_that_the_provider_may_call_it_the_same() -> None:
    with _open(owner_id=GREEN) as world:
        loop = Loop.objects.create(owner=Owner.objects.get(owner_id=PARKED), provider=world.provider)
        DeclaredEndpoint.objects.create(
            loop=loop,
            name=WWW,
            record_type="A",
            targets=["192.0.2.1"],
            provider_specific=[["aws/weight", "010"]],
        )
        DeclaredEndpoint.objects.create(loop=loop, name=API, record_type="A", targets=["192.0.2.7"])

        found = plan(make_alice(), ask(selection=Selection(owner_id=GREEN), target_owner_id=PARKED))

        reasons = {item.name: item.verdict_reason for item in found.items}
        unless = "unless the provider says that its properties mean the same"
        assert (unless in reasons[WWW], unless in reasons[API]) == (True, False)
