"""The first sync to a provider."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.models import AuditEntry, Claim, Owner, RecordEvent, RecordSet, SyncRun
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_record, make_zone

pytestmark = pytest.mark.django_db


def test_it_stores_a_mirror_with_every_record_set_and_its_owner() -> None:
    zone = [*make_zone("blue-cluster", 20), make_record("mail.example.org", "MX", ("10 mx.example.org",))]
    with ReferenceProvider(zone) as reference:
        provider = make_provider(url=reference.url)

        run = sync_provider(provider.pk, actor=SYSTEM, trigger="schedule")

    assert run is not None
    assert (run.status, run.seen, run.created, run.claims) == (SyncRun.Status.STORED, 21, 21, 20)
    assert RecordSet.objects.filter(state="owned", owner__owner_id="blue-cluster").count() == 20
    assert RecordSet.objects.get(state="unmanaged").name == "mail.example.org"
    assert Claim.objects.filter(verdict="effective").count() == 20


def test_it_writes_no_history_for_a_baseline() -> None:
    with ReferenceProvider(make_zone("blue-cluster", 5)) as reference:
        provider = make_provider(url=reference.url)

        sync_provider(provider.pk, actor=SYSTEM, trigger="schedule")

    assert RecordSet.objects.count() == 5
    assert not RecordEvent.objects.exists()


def test_it_registers_the_owners_it_sees_as_discovered_with_one_audit_line() -> None:
    zone = [*make_zone("blue-cluster", 3), *make_zone("green-cluster", 3, domain="green.example.org")]
    with ReferenceProvider(zone) as reference:
        provider = make_provider(url=reference.url)

        sync_provider(provider.pk, actor=SYSTEM, trigger="schedule")

    assert set(Owner.objects.values_list("owner_id", "status")) == {
        ("blue-cluster", "discovered"),
        ("green-cluster", "discovered"),
    }
    assert list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True)) == [
        "owner.discovered",
        "snapshot.stored",
    ]
