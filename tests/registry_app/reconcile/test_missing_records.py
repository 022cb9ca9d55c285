"""A record set that vanished is missing, and purged by age."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import Provider, RecordEvent, RecordSet
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.serving import serve
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db
GONE = "app-00003.example.org"


def _lose_one() -> Provider:
    """A provider one of whose four record sets vanished."""
    provider, zone = make_provider(), make_zone(count=4)
    serve(provider, zone)
    serve(provider, zone[:6])
    return provider


def test_one_absence_is_counted_and_the_values_stay() -> None:
    provider = _lose_one()

    gone = RecordSet.objects.get(name=GONE)

    assert gone.missing_since is not None
    assert (gone.missing_snapshots, gone.targets) == (1, ["192.0.2.4"])
    assert gone.owner is not None
    assert RecordEvent.objects.get().kind == "vanished"
    assert provider.record_set_count == 3


def test_an_unchanged_answer_counts_as_another_absence() -> None:
    provider = _lose_one()
    with ReferenceProvider(make_zone(count=4)[:6]) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)

        sync(provider)

    assert RecordSet.objects.get(name=GONE).missing_snapshots == 2


def test_it_is_kept_while_only_the_snapshots_are_enough() -> None:
    provider = _lose_one()

    for _ in range(4):
        serve(provider, make_zone(count=4)[:6])

    assert RecordSet.objects.get(name=GONE).missing_snapshots == 3


def test_it_is_kept_while_only_the_time_is_enough() -> None:
    provider = _lose_one()
    _pretend_missing_for(timedelta(hours=25))

    serve(provider, make_zone(count=4)[:6])

    assert RecordSet.objects.filter(name=GONE).exists()


def test_it_is_purged_after_three_snapshots_and_a_day() -> None:
    provider = _lose_one()
    _pretend_missing_for(timedelta(hours=25))

    serve(provider, make_zone(count=4)[:6])
    run = serve(provider, make_zone(count=4)[:6])

    assert run.purged == 1
    assert not RecordSet.objects.filter(name=GONE).exists()
    event = RecordEvent.objects.get(kind="purged")
    assert event.before is not None
    assert (event.name, event.before["owner"]) == (GONE, "blue-cluster")


def test_a_failed_sync_counts_no_absence() -> None:
    provider = _lose_one()
    Provider.objects.filter(pk=provider.pk).update(url="http://127.0.0.1:1", deadline_seconds=1)

    sync(provider)

    assert RecordSet.objects.get(name=GONE).missing_snapshots == 1


def test_one_that_is_there_again_is_no_longer_missing() -> None:
    provider = _lose_one()

    run = serve(provider, make_zone(count=4))

    back = RecordSet.objects.get(name=GONE)
    assert (run.returned, run.created) == (1, 0)
    assert (back.missing_since, back.missing_snapshots) == (None, 0)
    assert RecordEvent.objects.order_by("-pk").values_list("kind", flat=True)[0] == "returned"
    assert provider.record_set_count == 4


def _pretend_missing_for(duration: timedelta) -> None:
    RecordSet.objects.filter(name=GONE).update(missing_since=timezone.now() - duration)
