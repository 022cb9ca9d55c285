"""A ConfigMap registry beside its provider: the difference is told, and made good where a person said so."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.utils import timezone

from providers.wire.change_set import ChangeSet
from registry_app.actor import SYSTEM
from registry_app.inventory.freeze import freeze
from registry_app.models import AuditEntry, Finding, HeldSnapshot, RegistryProfile
from registry_app.queries.registry_profile import due_resyncs
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.lease import take_lease
from registry_app.resync.resync_registry import resync_registry
from tests.factories import make_administrator, make_owner
from tests.kubernetes_api import faults
from tests.reference_server import make_record
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.resync.world import API, BLUE, WWW, Beside, open_beside

pytestmark = pytest.mark.django_db


@pytest.fixture
def beside() -> Iterator[Beside]:
    with open_beside() as found:
        yield found


def drift() -> Finding:
    return Finding.objects.get(kind=Finding.Kind.REGISTRY_DRIFT)


def test_a_registry_that_misses_a_record_set_is_told_and_left_as_it_is(beside: Beside) -> None:
    before = beside.rows()

    beside.resync()

    assert drift().state == Finding.State.OPEN
    assert drift().details["differences"] == [
        {
            "kind": "record_without_row",
            "name": "api.example.org",
            "record_type": "A",
            "set_identifier": "",
            "in_registry": "no row",
            "at_provider": "192.0.2.2, 192.0.2.3",
        }
    ]
    assert "differs from what blue-zone shows in 1 place." in drift().explanation
    assert beside.rows() == before
    assert not [write for write in beside.api.writes() if write]


def test_the_page_of_the_finding_shows_both_sides(beside: Beside, client: Client) -> None:
    beside.resync()
    client.force_login(make_administrator())

    page = client.get(f"/admin/registry_app/finding/{drift().pk}/change/").content.decode()

    assert "api.example.org" in page
    assert "no row" in page
    assert "192.0.2.2, 192.0.2.3" in page


def test_where_a_person_said_so_it_is_made_good_and_told_no_more(beside: Beside) -> None:
    beside.resync()

    beside.resync(is_rebuilt=True)

    assert drift().state == Finding.State.RESOLVED
    rows = {str(row["dnsname"]): (row["owner"], row["target"]) for row in beside.rows()}
    assert rows == {"www.example.org": (BLUE, "192.0.2.1"), "api.example.org": ("", "192.0.2.2")}
    entry = AuditEntry.objects.get(action="registry_profile.rebuilding")
    assert entry.after == {"owner_id": BLUE, "differences": 1}


def test_what_a_rebuild_cannot_make_good_is_tried_once_and_told(beside: Beside) -> None:
    beside.put(make_record("gone.example.org"))

    for _ in range(3):
        beside.resync(is_rebuilt=True)

    assert [each["kind"] for each in drift().details["differences"]] == ["row_without_record"]
    assert drift().state == Finding.State.OPEN
    assert AuditEntry.objects.filter(action="registry_profile.rebuilding").count() == 1


def test_an_owner_that_uses_another_registry_by_now_is_told_of_no_more(beside: Beside) -> None:
    beside.resync()
    beside.profile.instances.update(registry_profile=None)

    beside.resync()

    assert drift().state == Finding.State.RESOLVED


@pytest.mark.parametrize("names", [[], ["else.example.org"]])
def test_while_a_freeze_lasts_nothing_is_written_also_if_it_is_of_some_names(
    beside: Beside, names: list[str]
) -> None:
    freeze(SYSTEM, provider_id=None, reason="Moving house.", names=names)

    beside.resync(is_rebuilt=True)

    assert drift().state == Finding.State.OPEN
    assert not beside.api.writes()


def test_a_freeze_of_another_owner_does_not_keep_it_from_being_rebuilt(beside: Beside) -> None:
    freeze(SYSTEM, provider_id=None, reason="Moving house.", owner=make_owner("green-cluster"))

    beside.resync(is_rebuilt=True)

    assert beside.api.writes()


def test_an_answer_that_shows_too_little_proves_nothing(beside: Beside) -> None:
    beside.put(API)
    more = tuple(make_record(f"app-{number:02}.example.org") for number in range(20))
    beside.reference.backend.apply(ChangeSet(create=more))
    sync(beside.provider)
    beside.reference.backend.apply(ChangeSet(delete=(*more, WWW, API)))

    beside.resync(is_rebuilt=True)

    assert not Finding.objects.filter(kind=Finding.Kind.REGISTRY_DRIFT).exists()
    assert len(beside.rows()) == 2


def test_a_store_that_cannot_be_read_changes_nothing(beside: Beside) -> None:
    beside.resync()
    beside.api.faults.plan("list /configmaps", faults.error(503))

    beside.resync(is_rebuilt=True)

    assert drift().state == Finding.State.OPEN
    assert len(beside.rows()) == 1


def test_it_waits_for_its_turn_and_for_the_provider(beside: Beside) -> None:
    first = due_resyncs()
    beside.resync()
    rested = due_resyncs()
    asked = len(beside.api.history.requests())
    resync_registry(beside.profile.pk)
    lease = take_lease(beside.provider.pk, "a sync")
    beside.resync()

    assert lease is not None
    assert (first, rested) == ([beside.profile.pk], [])
    assert len(beside.api.history.requests()) == asked
    again = RegistryProfile.objects.get().next_resync_at
    assert again is not None
    assert (again - timezone.now()).total_seconds() < 60


def test_nothing_is_compared_or_rebuilt_while_what_the_provider_shows_is_held(beside: Beside) -> None:
    for number in range(20):
        beside.reference.backend.apply(ChangeSet(create=(make_record(f"app-{number}.example.org"),)))
    sync(beside.provider)
    for each in beside.reference.endpoints():
        other = make_record(f"other-{each.dns_name}")
        beside.reference.backend.apply(ChangeSet(create=(other,), delete=(each,)))
    held = sync(beside.provider)
    before = beside.rows()

    beside.resync(is_rebuilt=True)

    assert held.status == "held"
    assert beside.rows() == before
    assert not Finding.objects.filter(kind=Finding.Kind.REGISTRY_DRIFT).exists()


def test_a_registry_that_was_deleted_is_not_rebuilt_before_a_person_believes_it(beside: Beside) -> None:
    sync(beside.provider)
    beside.api.delete_object("configmaps", f"{BLUE}-storage")

    beside.resync(is_rebuilt=True)
    written, told = beside.api.writes(), drift()
    held = sync(beside.provider)
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Blue begins anew.")
    stored = sync(beside.provider)
    beside.resync(is_rebuilt=True)

    assert written == []
    assert (told.state, told.details["was_rebuilt"]) == (Finding.State.OPEN, False)
    assert (held.status, stored.status) == ("held", "stored")
    assert {row["dnsname"]: row["owner"] for row in beside.rows()} == {
        "api.example.org": "",
        "www.example.org": "",
    }
