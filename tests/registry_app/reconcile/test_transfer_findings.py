"""What became of transfers, as later syncs see it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import Finding, Owner, Provider, RecordEvent, SyncRun, Transfer, TransferItem
from tests.factories import make_owner, make_provider
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve

pytestmark = pytest.mark.django_db
NAME = "app-00000.example.org"


def _moved(provider: Provider, names: list[str], *, ago: timedelta = timedelta(0)) -> Transfer:
    """A verified transfer of these A record sets from blue-cluster to green-cluster."""
    at = timezone.now() - ago
    blue = Owner.objects.get(owner_id="blue-cluster")
    green = Owner.objects.filter(owner_id="green-cluster").first() or make_owner("green-cluster")
    transfer = Transfer.objects.create(
        kind=Transfer.Kind.TRANSFER,
        provider=provider,
        source_owner=blue,
        target_owner=green,
        status=Transfer.Status.VERIFIED,
        reason="The shop moves.",
        plan_fingerprint="f",
        approved_fingerprint="f",
        approval_policy="none",
        requested_by_name="alice",
        expires_at=at,
        started_at=at,
        finished_at=at,
    )
    for ordinal, name in enumerate(names):
        TransferItem.objects.create(
            transfer=transfer,
            ordinal=ordinal,
            name=name,
            record_type="A",
            verdict=TransferItem.Verdict.NO_OP,
            status=TransferItem.Status.VERIFIED,
        )
    return transfer


def test_owners_that_our_transfer_changed_are_not_suspicious() -> None:
    provider = make_provider()
    zone = [make_record("www.example.org"), make_claim("www.example.org")]
    serve(provider, zone)
    transfer = _moved(provider, ["www.example.org"])

    run = serve(provider, [zone[0], make_claim("www.example.org", owner="green-cluster")])

    assert run.status == SyncRun.Status.STORED
    event = RecordEvent.objects.get(kind="owner_changed")
    assert (event.transfer_id, event.writer) == (transfer.pk, "dnsadmin")


def test_the_same_change_by_somebody_else_is_suspicious() -> None:
    provider = make_provider()
    zone = [make_record("www.example.org"), make_claim("www.example.org")]
    serve(provider, zone)

    run = serve(provider, [zone[0], make_claim("www.example.org", owner="green-cluster")])

    assert run.status == SyncRun.Status.HELD


def test_a_claim_that_is_the_former_owners_again_is_told_of() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    _moved(provider, [NAME])

    serve(provider, [*zone, make_record("new.example.org")])

    finding = Finding.objects.get(kind=Finding.Kind.CHANGED_BACK)
    assert (finding.name, finding.details["now"]) == (NAME, "blue-cluster")
    assert finding.suggestion["target_owner_id"] == "green-cluster"


def test_a_record_set_that_is_gone_after_its_transfer_is_told_of() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    _moved(provider, [NAME])

    serve(provider, zone[2:])

    finding = Finding.objects.get(kind=Finding.Kind.DELETED_AFTER_TRANSFER)
    assert (finding.name, finding.severity) == (NAME, Finding.Severity.CRITICAL)


def test_a_transfer_that_holds_is_not_told_of() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    _moved(provider, [NAME])

    serve(provider, [zone[0], make_claim(NAME, owner="green-cluster"), *zone[2:]])

    kinds = [Finding.Kind.CHANGED_BACK, Finding.Kind.DELETED_AFTER_TRANSFER]
    assert not Finding.objects.filter(kind__in=kinds).exists()


def test_a_transfer_of_last_month_is_no_longer_watched() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    _moved(provider, [NAME], ago=timedelta(days=30))

    serve(provider, [*zone, make_record("new.example.org")])

    assert not Finding.objects.filter(kind=Finding.Kind.CHANGED_BACK).exists()


def test_a_finding_that_time_alone_ends_is_looked_at_though_the_answer_is_the_same() -> None:
    provider, zone = make_provider(), make_zone(count=12)
    serve(provider, zone)
    transfer = _moved(provider, [NAME])
    serve(provider, [*zone, make_record("new.example.org")])
    long_ago = timezone.now() - timedelta(days=8)
    Transfer.objects.filter(pk=transfer.pk).update(finished_at=long_ago)
    Finding.objects.update(last_seen_at=long_ago)

    serve(provider, [*zone, make_record("new.example.org")])

    assert Finding.objects.get(kind=Finding.Kind.CHANGED_BACK).state == Finding.State.RESOLVED
