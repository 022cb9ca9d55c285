"""Instances that ask within a moment share one reading, unless somebody may have written since."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.models import Provider
from registry_app.reconcile.lease import release_lease, take_lease
from tests.reference_server import ReferenceProvider, make_record, make_zone
from tests.registry_app.guard.serving import Guarded, guarded

pytestmark = pytest.mark.django_db(transaction=True)


def _count_readings(guard: Guarded) -> int:
    return len(guard.reference.history.requests("GET /records"))


def test_the_provider_is_read_once_for_many(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=5)) as guard:
        before = _count_readings(guard)
        with ThreadPoolExecutor(8) as pool:
            read = list(pool.map(lambda _: guard.read(), range(16)))

        assert _count_readings(guard) == before + 1
    assert all(each == make_zone(count=5) for each in read)


def test_nobody_gets_a_reading_from_before_a_write(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=5)) as guard:
        guard.read()
        lease = take_lease(guard.endpoint.provider_id, "a transfer")
        assert lease is not None
        while_written = guard.read()
        guard.reference.backend.apply(ChangeSet(create=(make_record("new.example.org"),)))
        still_written = guard.read()
        release_lease(lease)
        after = guard.read()

    assert while_written == make_zone(count=5)
    for read in (still_written, after):
        assert "new.example.org" in {each.dns_name for each in read}


def test_a_reading_that_failed_is_not_shared(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone(count=5)) as guard:
        guard.reference.stop()
        failed = guard.get("/records")
        guard.reference.start()

        assert (failed.status_code, guard.get("/records").status_code) == (503, 200)


def test_another_address_of_the_provider_is_read_anew(tmp_path: Path) -> None:
    other = ReferenceProvider(make_zone(count=6))
    with guarded(tmp_path, make_zone(count=5)) as guard, other:
        guard.read()
        provider = Provider.objects.get()
        provider.url = other.url
        provider.save()

        assert guard.read() == make_zone(count=6)
