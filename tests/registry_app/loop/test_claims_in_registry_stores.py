"""Owners that keep their claims beside DNS: the claim is there before its record set, and goes after it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.utils import timezone

from providers.stores.aws_sd_registry import write_description
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import Finding, Freeze, LoopRun, LoopStep, Provider, RegistryProfile
from tests.faults import write_faults
from tests.reference_server import make_record
from tests.registry_app.loop.test_killed_workers import tick
from tests.registry_app.loop.world import API, BYSTANDERS, OLD, PARKED, WWW, declare, run, wanted
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.registries import Registry
from tests.registry_app.transfer.stored_registries import open_registry
from tests.registry_app.transfer.two_registries import FAILING, STORES
from tests.registry_app.transfer.world import World, enter_world, register_owner

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status
POST = "POST /records"
# Those whose claims do not travel with the record set itself.
BESIDE = [kind for kind in STORES if kind != "aws-sd"]


@dataclass
class Parking:
    """A provider, and the registry `parked` keeps beside it."""

    world: World
    registry: Registry

    def owners(self) -> Mapping[EndpointKey, list[str]]:
        """Whose the rows of the registry are, by record set."""
        return {
            key: [text.split("owner=")[1].split(",")[0] for text in texts]
            for key, texts in self.registry.claims().items()
        }

    def records(self) -> dict[tuple[str, str], Endpoint]:
        return {key: write_description(each, None) for key, each in self.world.zone().items()}


@contextmanager
def open_stored(kind: str, *names: str) -> Iterator[Parking]:
    """A world whose `parked` has these record sets, claimed in a registry of this kind."""
    records = [make_record(name) for name in names]
    with (
        RecordingProvider([*BYSTANDERS, *records]) as reference,
        open_registry(kind, reference) as registry,
    ):
        for record in records:
            registry.put(record, PARKED)

        def register(provider: Provider) -> None:
            register_owner(PARKED, registry_profile=registry.profile(provider))

        world = enter_world(reference, "shared-zone", prepare=register)
        yield Parking(world, registry)


def key(name: str) -> EndpointKey:
    return EndpointKey(name, "A", "")


@pytest.mark.parametrize("kind", STORES)
def test_record_sets_come_change_and_go_with_their_rows(kind: str) -> None:
    with open_stored(kind, WWW, OLD) as parking:
        ended = run(parking.world, [wanted(WWW, "192.0.2.8"), wanted(API)])
        again = run(parking.world, [wanted(WWW, "192.0.2.8"), wanted(API)])

        assert ended.status == STATUS.VERIFIED, ended.reason
        assert (ended.created, ended.updated, ended.deleted) == (1, 1, 1)
        assert again.status == STATUS.UNCHANGED
        assert parking.owners() == {key(WWW): [PARKED], key(API): [PARKED]}
        expected = {(each.dns_name, each.record_type) for each in BYSTANDERS}
        assert set(parking.records()) == expected | {(WWW, "A"), (API, "A")}
        assert len(parking.world.change_sets()) == 1
        parking.world.sync()
        assert parking.world.owner_of(API) == PARKED


def test_the_zone_has_copies_of_the_rows_where_their_profile_keeps_the_txt_records_too() -> None:
    with open_stored("database", OLD) as parking:
        RegistryProfile.objects.update(keeps_txt=True)

        def copies() -> set[str]:
            names = {name for name, kind in parking.world.zone() if kind == "TXT"}
            return names - {each.dns_name for each in BYSTANDERS}

        made = run(parking.world, [wanted(WWW), wanted(OLD)])
        after_made = copies()
        changed = run(parking.world, [wanted(WWW, "192.0.2.8")])
        gone = run(parking.world, [wanted(API)])

        ends = [(each.status, each.reason) for each in (made, changed, gone)]
        assert ends == [(STATUS.VERIFIED, "")] * 3
        assert after_made == {f"a-{WWW}"}
        assert copies() == {f"a-{API}"}
        assert parking.owners() == {key(API): [PARKED]}
        parking.world.sync()
        assert parking.world.owner_of(API) == PARKED
        assert not Finding.objects.filter(kind="copy_differs", state="open").exists()


@pytest.mark.parametrize("kind", BESIDE)
def test_the_claim_stands_before_its_record_set_is_made(kind: str) -> None:
    with open_stored(kind) as parking:
        seen: list[Mapping[EndpointKey, list[str]]] = []
        fault = write_faults.meanwhile(lambda: seen.append(parking.owners()))
        parking.world.reference.faults.plan(POST, fault)

        ended = run(parking.world, [wanted(WWW)])

        assert ended.status == STATUS.VERIFIED, ended.reason
        assert seen == [{key(WWW): [PARKED]}]


@pytest.mark.parametrize("kind", STORES)
def test_a_record_set_that_was_not_made_leaves_an_intent_at_most_and_is_made_by_the_next_run(
    kind: str,
) -> None:
    with open_stored(kind, OLD) as parking:
        parking.world.reference.faults.plan(POST, write_faults.error_before_applying())

        first = run(parking.world, [wanted(WWW), wanted(OLD)])
        left = parking.owners()
        second = run(parking.world, [wanted(WWW), wanted(OLD)])

        intent = {key(WWW): [PARKED]} if kind in ("configmap", "database") else {}
        assert first.status == STATUS.INCOMPLETE
        assert left == {key(OLD): [PARKED], **intent}
        assert (second.status, second.created) == (STATUS.VERIFIED, 1), second.reason
        assert parking.owners() == {key(WWW): [PARKED], key(OLD): [PARKED]}


def test_an_intent_of_what_nobody_wants_any_more_goes() -> None:
    with open_stored("configmap", OLD) as parking:
        parking.world.reference.faults.plan(POST, write_faults.error_before_applying())
        run(parking.world, [wanted(WWW), wanted(OLD)])

        ended = run(parking.world, [wanted(OLD)])
        again = run(parking.world, [wanted(OLD)])

        assert (ended.status, again.status) == (STATUS.VERIFIED, STATUS.UNCHANGED), ended.reason
        assert parking.owners() == {key(OLD): [PARKED]}


def test_an_intent_at_a_frozen_name_stays_until_the_freeze_is_over() -> None:
    with open_stored("configmap", OLD) as parking:
        parking.world.reference.faults.plan(POST, write_faults.error_before_applying())
        run(parking.world, [wanted(WWW), wanted(OLD)])
        freeze = Freeze.objects.create(names=[WWW], reason="Change stop.", starts_at=timezone.now())

        frozen = run(parking.world, [wanted(OLD)])
        left = parking.owners()
        freeze.delete()
        run(parking.world, [wanted(OLD)])

        assert frozen.status == STATUS.UNCHANGED
        assert left == {key(OLD): [PARKED], key(WWW): [PARKED]}
        assert parking.owners() == {key(OLD): [PARKED]}


def test_a_record_set_that_came_late_is_ours_all_the_same() -> None:
    with open_stored("configmap", OLD) as parking:
        parking.world.reference.faults.plan(POST, write_faults.applied_late(reads=4, code=500))

        first = run(parking.world, [wanted(WWW), wanted(OLD)])
        parking.world.reference.faults.deliver_late()
        second = run(parking.world, [wanted(WWW, "192.0.2.2"), wanted(OLD)])

        assert first.status == STATUS.INCOMPLETE
        assert (second.status, second.updated) == (STATUS.VERIFIED, 1), second.reason
        assert parking.owners() == {key(WWW): [PARKED], key(OLD): [PARKED]}


@pytest.mark.parametrize("fault", ["error", "reset", "nothing"])
@pytest.mark.parametrize("kind", BESIDE)
def test_without_its_claim_no_record_set_is_made(kind: str, fault: str) -> None:
    with open_stored(kind) as parking:
        for _ in range(3):
            parking.registry.plan_fault("write", fault)

        ended = run(parking.world, [wanted(WWW)])
        parking.registry.clear_faults()
        stood, claimed = (WWW, "A") in parking.records(), key(WWW) in parking.owners()
        again = run(parking.world, [wanted(WWW)])

        assert ended.created == stood
        assert claimed or not stood
        assert again.status in (STATUS.VERIFIED, STATUS.UNCHANGED), again.reason
        assert parking.owners() == {key(WWW): [PARKED]}


@pytest.mark.parametrize("kind", [kind for kind in FAILING if kind in BESIDE])
def test_a_store_that_cannot_be_read_stops_the_run_before_anything_is_sent(kind: str) -> None:
    with open_stored(kind, WWW) as parking:
        for _ in range(5):
            parking.registry.plan_fault("read", "failing")

        ended = run(parking.world, [wanted(WWW, "192.0.2.8")])
        parking.registry.clear_faults()

        assert ended.status == STATUS.FAILED
        assert "registry profile" in ended.reason
        assert parking.world.change_sets() == []


@pytest.mark.parametrize("kind", BESIDE)
def test_killed_when_the_claims_stood_and_the_record_sets_did_not(forks: Forks, kind: str) -> None:
    with open_stored(kind, OLD) as parking:
        loop = declare(parking.world, [wanted(WWW), wanted(OLD, "192.0.2.8")])

        assert forks.act("run_loop", loop.pk, crash_at="loop.settled").was_killed
        between = set(parking.records())
        tick()

        assert (WWW, "A") not in between
        first, second = loop.runs.order_by("pk")
        assert (first.status, second.status) == (STATUS.INCOMPLETE, STATUS.VERIFIED), second.reason
        assert [step.status for step in first.steps.all()] == [LoopStep.Status.VERIFIED]
        assert parking.owners() == {key(WWW): [PARKED], key(OLD): [PARKED]}
        assert parking.records()[WWW, "A"].targets == ("192.0.2.1",)
        assert len(parking.world.change_sets()) == 1
