"""Loops by program: registered, declared under a precondition, planned, asked to run, and looked at."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from registry_app.loop.run_loop import run_loop
from registry_app.models import AuditEntry, Grant, Loop, LoopRun, Owner, Provider
from registry_app.queries.loop import due_loops
from tests.factories import make_administrator, make_cluster, make_user, set_instance
from tests.registry_app.api.client import API, items, make_client, read
from tests.registry_app.loop.world import API as API_NAME
from tests.registry_app.loop.world import OLD, PARKED, WWW, open_parking, owned
from tests.registry_app.transfer.world import World

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world() -> Iterator[World]:
    with open_parking([*owned(WWW, "192.0.2.7"), *owned(OLD)]) as opened:
        yield opened


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def _register(client: APIClient, **values: Any) -> str:
    """The address of a new loop of `parked`, switched off by default."""
    body = {"owner": PARKED, "provider": "blue-zone", "is_enabled": False, **values}
    response = client.post(f"{API}/loops/", body)
    assert response.status_code == 201, response.content
    return f"{API}/loops/{read(response)['id']}/"


def _endpoint(name: str = WWW, *targets: str, **values: Any) -> dict[str, Any]:
    return {"name": name, "record_type": "A", "targets": targets or ["192.0.2.1"], **values}


def _replace(client: APIClient, address: str, *endpoints: dict[str, Any]) -> Any:
    etag = client.get(f"{address}endpoints/")["ETag"]
    return client.put(
        f"{address}endpoints/", {"endpoints": endpoints}, format="json", headers={"If-Match": etag}
    )


def test_a_loop_is_registered_and_changed_under_its_version(world: World, client: APIClient) -> None:
    address = _register(client, managed_types=["A"], policy="upsert-only")

    shown = client.get(address)
    without = client.patch(address, {"interval_seconds": 120})
    changed = client.patch(address, {"interval_seconds": 120}, headers={"If-Match": shown["ETag"]})
    stale = client.patch(address, {"interval_seconds": 240}, headers={"If-Match": shown["ETag"]})

    assert read(shown)["owner"] == PARKED
    assert (without.status_code, changed.status_code, stale.status_code) == (428, 200, 412)
    assert read(changed)["interval_seconds"] == 120
    assert list(AuditEntry.objects.filter(action__startswith="loop.").values_list("action", flat=True)) == [
        "loop.changed",
        "loop.registered",
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"owner": "nobody"}, 422),
        ({"provider": "nowhere"}, 422),
        ({"policy": "everything"}, 422),
        ({"managed_types": ["BOGUS"]}, 422),
        ({"managed_types": []}, 422),
        ({"interval_seconds": 1}, 422),
    ],
)
def test_what_makes_no_sense_is_refused(
    world: World, client: APIClient, body: dict[str, Any], status: int
) -> None:
    given = {"owner": PARKED, "provider": "blue-zone", **body}

    response = client.post(f"{API}/loops/", given)

    assert response.status_code == status, response.content
    assert list(read(response)["fields"]) == list(body)
    assert not Loop.objects.exists()


def test_the_owner_of_a_cluster_or_an_unregistered_one_gets_no_loop(world: World, client: APIClient) -> None:
    body = {"owner": PARKED, "provider": "blue-zone"}
    set_instance(PARKED, cluster=make_cluster())

    in_a_cluster = client.post(f"{API}/loops/", body)
    set_instance(PARKED, cluster=None)
    Owner.objects.filter(owner_id=PARKED).update(status=Owner.Status.DISCOVERED)
    unregistered = client.post(f"{API}/loops/", body)

    codes = [read(each)["code"] for each in (in_a_cluster, unregistered)]
    assert codes == ["owner_runs_in_a_cluster", "owner_not_registered"]
    assert not Loop.objects.exists()


def test_there_is_one_loop_for_an_owner_at_a_provider(world: World, client: APIClient) -> None:
    _register(client)

    again = client.post(f"{API}/loops/", {"owner": PARKED, "provider": "blue-zone"})

    assert again.status_code == 422, again.content
    assert Loop.objects.count() == 1


def test_the_whole_set_is_declared_under_its_version(world: World, client: APIClient) -> None:
    address = _register(client)

    first = _replace(client, address, _endpoint("WWW.Example.ORG.", ttl=60), _endpoint(API_NAME))
    old_version = {"If-Match": client.get(f"{address}endpoints/")["ETag"]}
    second = _replace(client, address, _endpoint(WWW, "192.0.2.9"))
    stale = client.put(f"{address}endpoints/", {"endpoints": []}, format="json", headers=old_version)

    assert (first.status_code, second.status_code, stale.status_code) == (200, 200, 412), first.content
    (kept,) = items(client, f"{address.removeprefix(API)}endpoints/")
    assert (kept["name"], kept["targets"], kept["ttl"]) == (WWW, ["192.0.2.9"], 0)
    entry = AuditEntry.objects.filter(action="loop.endpoints_declared").first()
    assert entry is not None
    assert entry.after == {
        "added": [],
        "changed": [f"{WWW} A"],
        "withdrawn": [f"{API_NAME} A"],
        "counts": [0, 1, 1],
    }


def test_one_endpoint_is_declared_changed_and_withdrawn(world: World, client: APIClient) -> None:
    address = _register(client)

    declared = client.post(f"{address}endpoints/", _endpoint())
    changed = client.post(f"{address}endpoints/", _endpoint(WWW, "192.0.2.9"))
    gone = client.delete(f"{address}endpoints/{read(declared)['id']}/")
    again = client.delete(f"{address}endpoints/{read(declared)['id']}/")

    assert (declared.status_code, changed.status_code) == (201, 201)
    assert read(changed)["id"] == read(declared)["id"]
    assert (gone.status_code, again.status_code) == (204, 404)
    assert items(client, f"{address.removeprefix(API)}endpoints/") == []


def test_an_endpoint_that_cannot_stand_is_refused_by_field(world: World, client: APIClient) -> None:
    address = _register(client)
    rows: list[tuple[dict[str, Any], str]] = [
        ({"name": "a..b"}, "name"),
        ({"name": "straße.example.org"}, "name"),
        ({"record_type": "BOGUS"}, "record_type"),
        ({"targets": ["not an address"]}, "targets.0"),
        ({"targets": ["192.0.2.1", "2001:db8::1"]}, "targets.1"),
        ({"record_type": "TXT", "targets": ['"heritage=external-dns,external-dns/owner=x"']}, "targets.0"),
        ({"resource": "a,b"}, "resource"),
    ]
    for values, field in rows:
        alone = client.post(f"{address}endpoints/", {**_endpoint(), **values})
        among = _replace(client, address, _endpoint(API_NAME), {**_endpoint(), **values})

        assert (alone.status_code, among.status_code) == (422, 422), (values, among.content)
        assert list(read(alone)["fields"]) == [field], values
        assert list(read(among)["fields"]) == [f"endpoints.1.{field}"], values


def test_the_plan_is_made_from_a_fresh_reading_and_nothing_is_sent(world: World, client: APIClient) -> None:
    address = _register(client)
    _replace(client, address, _endpoint(WWW, "192.0.2.8"), _endpoint("shop.example.org", "192.0.2.66"))

    plan = read(client.post(f"{address}plan/", {}))

    assert [each["after"]["targets"] for each in plan["updates"]] == [["192.0.2.8"]]
    assert [each["name"] for each in plan["deletes"]] == [OLD]
    assert [each["reason"] for each in plan["left_alone"]] == [
        "It is not ours to update: blue-cluster owns it."
    ]
    assert world.change_sets() == []


def test_it_is_asked_to_run_and_its_run_is_shown(world: World, client: APIClient) -> None:
    address = _register(client, is_enabled=True)
    _replace(client, address, _endpoint(WWW, "192.0.2.8"), _endpoint(OLD))
    loop = Loop.objects.get()

    asked = client.post(f"{address}run/", {})
    assert due_loops() == [loop.pk]
    run_loop(loop.pk)

    (run,) = items(client, f"/loop-runs/?loop={loop.pk}")
    detail = read(client.get(f"{API}/loop-runs/{run['id']}/"))
    assert asked.status_code == 202
    assert asked["Location"].endswith(f"{API}/loop-runs/?loop={loop.pk}")
    assert (run["status"], run["updated"], run["trigger"]) == ("verified", 1, "person")
    assert run["requested_by"].startswith("root")
    assert [each["outcome"] for each in detail["steps"][0]["outcomes"]] == ["verified"]
    assert read(client.get(address))["last_run"]["status"] == "verified"


def test_a_confirmation_is_good_for_one_run(world: World, client: APIClient) -> None:
    address = _register(client, is_enabled=True)
    loop = Loop.objects.get()

    run_loop(loop.pk)
    text = read(client.post(f"{address}plan/", {}))["confirmation_text"]
    client.post(f"{address}run/", {"confirmation": text})
    run_loop(loop.pk)

    statuses = list(LoopRun.objects.order_by("pk").values_list("status", flat=True))
    assert statuses == ["refused", "verified"]
    assert (WWW, "A") not in world.zone()
    assert Loop.objects.get().confirmation == ""


def test_a_loop_that_is_switched_off_is_not_asked_to_run(world: World, client: APIClient) -> None:
    address = _register(client)

    response = client.post(f"{address}run/", {})

    assert read(response)["code"] == "loop_disabled"
    assert due_loops() == []


def test_who_has_no_grant_over_the_owner_declares_and_runs_nothing(world: World, client: APIClient) -> None:
    address = _register(client, is_enabled=True)
    charlie = make_client(make_user("charlie"))

    answers = [
        charlie.post(f"{address}endpoints/", _endpoint()),
        _replace(charlie, address, _endpoint()),
        charlie.post(f"{address}plan/", {}),
        charlie.post(f"{address}run/", {}),
        charlie.post(f"{API}/loops/", {"owner": PARKED, "provider": "blue-zone"}),
    ]

    assert {each.status_code for each in answers} == {403}
    assert world.change_sets() == []


def test_a_grant_over_some_names_declares_just_those(world: World, client: APIClient) -> None:
    address = _register(client)
    group = make_user("bob").groups.create(name="of the shop")
    Grant.objects.create(group=group, action="request", name_suffix="shop.example.org")
    bob = make_client(group.user_set.get())

    inside = bob.post(f"{address}endpoints/", _endpoint("new.shop.example.org"))
    outside = bob.post(f"{address}endpoints/", _endpoint(WWW))

    assert (inside.status_code, outside.status_code) == (201, 403)


def test_a_provider_that_does_not_answer_is_a_problem_of_its_own(world: World, client: APIClient) -> None:
    address = _register(client)
    world.reference.stop()

    response = client.post(f"{address}plan/", {})
    world.reference.start()

    assert response.status_code >= 400
    assert "blue-zone" in read(response)["happened"]
    assert Provider.objects.get().lease_holder == ""
