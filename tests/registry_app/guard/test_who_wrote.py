"""The history of a record set names the guard endpoint, or the loop, that changed it."""

from pathlib import Path

import pytest
from django.test import Client

from providers.wire.change_set import ChangeSet
from registry_app.models import GuardEndpoint, RecordEvent, RecordSet
from tests.factories import make_administrator
from tests.reference_server import make_claim, make_record
from tests.registry_app.api.client import items, make_client
from tests.registry_app.guard.serving import guarded
from tests.registry_app.loop import world as loops
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db(transaction=True)
NEW = (make_record("new.example.org"), make_claim("new.example.org"))
OLD = (make_record(), make_claim())


def _list_events() -> list[tuple[str, str, str]]:
    rows = RecordEvent.objects.order_by("pk")
    return list(rows.values_list("name", "kind", "guard_endpoint"))


@pytest.mark.parametrize("mode", [GuardEndpoint.Mode.OBSERVE, GuardEndpoint.Mode.ENFORCE])
def test_what_an_instance_changed_through_the_guard_names_its_guard_endpoint(
    tmp_path: Path, mode: str
) -> None:
    moved = make_record(targets=("192.0.2.9",))
    with guarded(tmp_path, OLD, mode=mode) as guard:
        guard.apply(create=NEW, update_old=OLD, update_new=(moved, OLD[1]))
        sync(guard.endpoint.provider)
        guard.apply(delete=NEW)
        sync(guard.endpoint.provider)

    assert sorted(_list_events()) == [
        ("new.example.org", "appeared", "blue"),
        ("new.example.org", "vanished", "blue"),
        ("www.example.org", "changed", "blue"),
    ]


def test_what_changed_at_the_provider_beside_the_guard_names_none(tmp_path: Path) -> None:
    with guarded(tmp_path, OLD, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        guard.apply(create=NEW)
        sync(guard.endpoint.provider)
        other = make_record("new.example.org", targets=("192.0.2.9",))
        guard.reference.backend.apply(ChangeSet(update_old=(NEW[0],), update_new=(other,)))
        sync(guard.endpoint.provider)

    assert _list_events() == [("new.example.org", "appeared", "blue"), ("new.example.org", "changed", "")]


def test_the_page_and_the_api_show_the_guard_endpoint(tmp_path: Path) -> None:
    with guarded(tmp_path, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        guard.apply(create=NEW)
        sync(guard.endpoint.provider)
    row = RecordSet.objects.get(name="new.example.org")
    root = make_administrator()
    browser = Client()
    browser.force_login(root)

    (event,) = items(make_client(root), f"/record-sets/{row.pk}/events/")
    page = browser.get(f"/admin/registry_app/recordset/{row.pk}/change/").content.decode()

    assert (event["guard_endpoint"], event["loop_run_id"], event["transfer_id"]) == ("blue", None, None)
    assert "guard endpoint blue" in page


def test_what_a_loop_changed_names_its_run() -> None:
    with loops.open_parking() as world:
        run = loops.run(world, [loops.wanted(loops.WWW)])
        sync(world.provider)

    events = RecordEvent.objects.filter(name=loops.WWW).values_list("kind", "loop_run_id")
    assert list(events) == [("appeared", run.pk)]
