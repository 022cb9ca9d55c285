"""A registry store that shows nothing any more is not believed, however few claims stood in it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.models import Claim, HeldSnapshot, Provider, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from tests.factories import make_provider
from tests.reference_server import make_claim, make_record
from tests.registry_app.reconcile.syncing import mirrored, sync
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.stored_registries import DynamoDbRegistry, start_moto
from tests.strict_dynamodb import StrictDynamoDb, strict_dynamodb

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

BLUE, GREEN = "blue-cluster", "green-cluster"
IN_ZONE = [make_record(f"app-{number:02}.example.org") for number in range(10)]
IN_TABLE = [make_record(f"job-{number:02}.example.org") for number in range(2)]


@dataclass
class Mixed:
    """Ten record sets that green claims in TXT records, and two that blue claims in a table."""

    reference: RecordingProvider
    service: StrictDynamoDb
    provider: Provider

    def empty_the_table(self) -> None:
        for each in IN_TABLE:
            self.service.delete(f"{each.dns_name}#A#")

    def lose(self, record: Endpoint) -> None:
        self.reference.backend.apply(ChangeSet(delete=(record,)))

    def owners(self) -> list[str | None]:
        return [row[5] for row in mirrored(self.provider) if row[1] == "A" and not row[-1]]


@pytest.fixture
def mixed() -> Iterator[Mixed]:
    claims = [make_claim(each.dns_name, owner=GREEN) for each in IN_ZONE]
    with (
        RecordingProvider([*IN_ZONE, *IN_TABLE, *claims]) as reference,
        strict_dynamodb(start_moto()) as service,
    ):
        provider = make_provider(url=reference.url)
        registry = DynamoDbRegistry(service)
        registry.profile(provider)
        for each in IN_TABLE:
            registry.put(each, BLUE)
        sync(provider)
        yield Mixed(reference, service, provider)


def test_a_store_that_lost_its_few_rows_is_held_while_their_record_sets_stand(mixed: Mixed) -> None:
    before = mixed.owners()
    mixed.empty_the_table()

    run = sync(mixed.provider)

    held = HeldSnapshot.objects.get()
    assert run.status == SyncRun.Status.HELD
    assert [reason["code"] for reason in held.reasons] == ["store_emptied"]
    assert "2 record sets" in held.reasons[0]["text"]
    assert mixed.owners() == before == [*[GREEN] * 10, *[BLUE] * 2]


def test_an_emptied_store_is_believed_where_a_person_does(mixed: Mixed) -> None:
    mixed.empty_the_table()
    sync(mixed.provider)
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Blue is gone.")

    run = sync(mixed.provider)

    assert run.status == SyncRun.Status.STORED
    assert mixed.owners() == [*[GREEN] * 10, None, None]


def test_what_empties_the_store_after_a_person_accepted_less_is_held_again(mixed: Mixed) -> None:
    for each in IN_ZONE[:5]:
        mixed.lose(each)
    sync(mixed.provider)
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Five are gone.")
    mixed.empty_the_table()

    run = sync(mixed.provider)

    assert run.status == SyncRun.Status.HELD
    assert "store_emptied" in [reason["code"] for reason in HeldSnapshot.objects.get().reasons]


def test_a_store_may_empty_with_the_record_sets_it_spoke_for(mixed: Mixed) -> None:
    mixed.empty_the_table()
    for each in IN_TABLE:
        mixed.lose(each)

    run = sync(mixed.provider)

    assert run.status == SyncRun.Status.STORED
    assert mixed.owners() == [GREEN] * 10
    assert not Claim.objects.filter(txt_name="").exists()
