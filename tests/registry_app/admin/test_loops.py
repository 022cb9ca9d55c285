"""Loops in the web admin: registered, declared, planned, run, and what a person reads of it."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry_app.loop.run_loop import run_loop
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner
from tests.factories import make_administrator, make_user
from tests.registry_app.admin.world import address, read_text, sign_in
from tests.registry_app.loop.world import OLD, PARKED, WWW, declare, open_parking, owned, wanted
from tests.registry_app.transfer.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[World]:
    with open_parking([*owned(WWW, "192.0.2.7"), *owned(OLD)]) as opened:
        yield opened


@pytest.fixture
def root() -> User:
    return make_administrator()


@pytest.fixture
def client(root: User) -> Client:
    return sign_in(root)


def test_a_loop_is_registered_and_changed_in_a_form(world: World, client: Client) -> None:
    owner = Owner.objects.get(owner_id=PARKED)
    values = {
        "owner": owner.pk,
        "provider": world.provider.pk,
        "policy": "upsert-only",
        "managed_types": "A\nAAAA",
        "interval_seconds": 120,
    }

    registered = client.post(address("loop_register"), values)
    loop = Loop.objects.get()
    form = client.get(address("loop_edit", loop.pk))
    read_at = form.context["read_at"]
    changed = client.post(
        address("loop_edit", loop.pk), {**values, "interval_seconds": 240, "read_at": read_at}
    )

    assert (registered.status_code, changed.status_code) == (302, 302)
    loop.refresh_from_db()
    assert (loop.managed_types, loop.interval_seconds, loop.is_enabled) == (["A", "AAAA"], 240, False)


def test_a_type_nobody_knows_is_told_beside_its_field(world: World, client: Client) -> None:
    owner = Owner.objects.get(owner_id=PARKED)
    values = {"owner": owner.pk, "provider": world.provider.pk, "policy": "sync", "managed_types": "BOGUS"}

    response = client.post(address("loop_register"), {**values, "interval_seconds": 60})

    assert response.status_code == 422
    assert "Name one or more of A, AAAA" in read_text(response)


def test_endpoints_are_declared_changed_and_withdrawn(world: World, client: Client) -> None:
    loop = declare(world, [])
    values = {"name": "WWW.example.org", "record_type": "A", "targets": "192.0.2.8\n192.0.2.9", "ttl": 60}

    declared = client.post(address("loop_declare", loop.pk), {**values, "provider_specific": "weight=10"})
    row = DeclaredEndpoint.objects.get()
    page = read_text(client.get(address("loop_change", loop.pk)))
    form = read_text(client.get(f"{address('loop_declare', loop.pk)}?endpoint={row.pk}"))
    refused = client.post(address("loop_declare", loop.pk), {**values, "targets": "nonsense"})
    withdrawn = client.post(address("loop_withdraw", loop.pk, row.pk))

    assert declared.status_code == 302
    assert (row.name, row.targets, row.provider_specific) == (
        WWW,
        ["192.0.2.8", "192.0.2.9"],
        [["weight", "10"]],
    )
    assert "192.0.2.8, 192.0.2.9" in page
    assert "weight=10" in form
    assert refused.status_code == 422
    assert "no IPv4 address" in read_text(refused)
    assert withdrawn.status_code == 302
    assert not DeclaredEndpoint.objects.exists()


def test_the_plan_is_shown_and_nothing_is_sent(world: World, client: Client) -> None:
    loop = declare(world, [wanted(WWW, "192.0.2.8"), wanted("shop.example.org", "192.0.2.66")])

    page = read_text(client.post(address("loop_plan", loop.pk)))

    assert "0 to create, 1 to update, 1 to delete, 1 left alone." in page
    assert "192.0.2.7" in page
    assert "blue-cluster owns it" in page
    assert world.change_sets() == []
    assert not LoopRun.objects.exists()


def test_a_plan_that_asks_for_a_word_is_run_with_it(world: World, client: Client) -> None:
    loop = declare(world, [])
    text = f"delete 2 record sets of {PARKED}"

    page = read_text(client.post(address("loop_plan", loop.pk)))
    client.post(address("loop_run", loop.pk), {"confirmation": text})
    run_loop(loop.pk)

    assert text in page
    run = LoopRun.objects.get()
    assert (run.status, run.deleted, run.requested_by) == ("verified", 2, "root")
    shown = read_text(client.get(address("looprun_change", run.pk)))
    assert OLD in shown
    assert "verified" in shown


def test_a_provider_that_does_not_answer_is_told(world: World, client: Client) -> None:
    loop = declare(world, [wanted(WWW)])
    world.reference.stop()

    response = client.post(address("loop_plan", loop.pk), follow=True)
    world.reference.start()

    assert response.status_code == 200
    assert "Nothing was planned or sent." in read_text(response)


def test_who_has_no_grant_sees_the_loop_and_changes_nothing(world: World) -> None:
    loop = declare(world, [wanted(WWW)])
    client = sign_in(make_user("charlie"))

    page = client.get(address("loop_change", loop.pk))
    for name in ("loop_plan", "loop_run"):
        client.post(address(name, loop.pk))
    declared = client.post(
        address("loop_declare", loop.pk),
        {"name": "new.example.org", "record_type": "A", "targets": "192.0.2.1", "ttl": 0},
    )

    assert page.status_code == 200
    assert "Run now" not in read_text(page)
    assert declared.status_code == 403
    assert DeclaredEndpoint.objects.count() == 1
    assert Loop.objects.get().requested_by == ""
    assert world.reference.history.requests() == ()


@pytest.mark.parametrize("name", ["loop_plan", "loop_run"])
def test_a_link_does_nothing(world: World, client: Client, name: str) -> None:
    loop = declare(world, [wanted(WWW)])

    response = client.get(address(name, loop.pk))

    assert response.status_code == 405
