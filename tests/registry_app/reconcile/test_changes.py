"""What a sync stores of a difference, and what history says of it."""

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry_app.models import (
    AuditEntry,
    Claim,
    Provider,
    RecordEvent,
    RecordSet,
    SyncRun,
)
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve, serve_body
from tests.registry_app.reconcile.syncing import mirrored, sync

pytestmark = pytest.mark.django_db


def test_a_changed_target_is_stored_with_what_it_was() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    zone[0] = msgspec.structs.replace(zone[0], targets=("192.0.2.99",))

    run = serve(provider, zone)

    assert (run.status, run.created, run.changed, run.vanished) == (SyncRun.Status.STORED, 0, 1, 0)
    assert RecordSet.objects.get(name="app-00000.example.org").targets == ["192.0.2.99"]
    event = RecordEvent.objects.get()
    assert (event.kind, event.sync_run_id, event.writer) == ("changed", run.pk, "blue-cluster")
    assert event.before is not None
    assert event.after is not None
    assert (event.before["targets"], event.after["targets"]) == (["192.0.2.1"], ["192.0.2.99"])


def test_a_changed_owner_is_stored_with_whose_it_was() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    zone[1] = make_claim(zone[0].dns_name, "A", "green-cluster")

    serve(provider, zone)

    record_set = RecordSet.objects.get(name="app-00000.example.org")
    assert record_set.owner is not None
    assert record_set.owner.owner_id == "green-cluster"
    assert Claim.objects.filter(record_name=record_set.name).count() == 1
    event = RecordEvent.objects.get(kind="owner_changed")
    assert event.before is not None
    assert event.after is not None
    assert (event.before["owner"], event.after["owner"]) == ("blue-cluster", "green-cluster")


def test_a_new_record_set_appears_in_mirror_and_history() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    serve(provider, zone)

    run = serve(provider, [*zone, make_record("new.example.org")])

    assert run.created == 1
    assert RecordSet.objects.get(name="new.example.org").state == "unmanaged"
    assert RecordEvent.objects.get().kind == "appeared"


def test_one_stored_snapshot_is_one_audit_line() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    before = AuditEntry.objects.count()

    serve(provider, [*zone, *make_zone(count=9, domain="more.example.org")])

    entries = AuditEntry.objects.order_by("sequence")[before:]
    assert [entry.action for entry in entries] == ["snapshot.stored"]
    assert entries[0].after is not None
    assert entries[0].after["created"] == 9


def test_an_unchanged_answer_costs_few_statements_and_no_audit_line() -> None:
    provider = make_provider()
    with ReferenceProvider(make_zone(count=50)) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        sync(provider)
        audited = AuditEntry.objects.count()

        with CaptureQueriesContext(connection) as statements:
            run = sync(provider)

    assert (run.status, run.seen) == (SyncRun.Status.UNCHANGED, 50)
    assert len(statements) <= 20
    assert AuditEntry.objects.count() == audited
    assert provider.accepted_snapshots == 2


def test_the_number_of_statements_does_not_follow_the_number_of_record_sets() -> None:
    small, large = make_provider("small"), make_provider("large")

    with CaptureQueriesContext(connection) as few:
        serve(small, make_zone(count=10))
    with CaptureQueriesContext(connection) as more:
        serve(large, make_zone(count=400, domain="large.example.org"))

    assert len(more) <= len(few)


def test_names_in_another_spelling_are_the_same_record_set() -> None:
    provider = make_provider()
    serve(provider, [make_record("www.example.org")])

    run = serve(provider, [make_record("WWW.Example.ORG.")])

    assert run.status == SyncRun.Status.UNCHANGED
    assert [row[0] for row in mirrored(provider)] == ["www.example.org"]


def test_targets_in_another_order_are_the_same_record_set() -> None:
    provider, targets = make_provider(), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    serve(provider, [make_record(targets=targets)])

    run = serve(provider, [make_record(targets=reversed(targets))])

    assert run.status == SyncRun.Status.UNCHANGED


def test_targets_listed_one_by_one_are_one_record_set() -> None:
    provider = make_provider()

    serve_body(
        provider,
        b'[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]},'
        b'{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.2"]}]',
    )

    assert [row[3] for row in mirrored(provider)] == [["192.0.2.1", "192.0.2.2"]]
