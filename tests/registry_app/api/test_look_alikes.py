"""Owner ids that look like a registered one are marked, and are no target until somebody registers them."""

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.models import Finding, HeldSnapshot, Owner, Provider, Transfer
from registry_app.queries.owner import build_skeleton, find_look_alikes
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_administrator, make_owner, make_provider, make_record_set
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.api.client import API, items, make_client, read
from tests.registry_app.transfer.world import open_world

pytestmark = pytest.mark.django_db

_CYRILLIC = "bluе-clustеr"
_FORGED = (_CYRILLIC, "Blue-Cluster", "blue-cluster ", "blue-c1uster", "blue-cluster\u200b")


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def test_what_a_reader_takes_for_the_same_has_one_skeleton() -> None:
    assert {build_skeleton(each) for each in _FORGED} == {build_skeleton("blue-cluster")}
    others = ("blue-clusters", "green-cluster", "blue-cluster-2", "blue.cluster", "синий")
    assert len({build_skeleton(each) for each in ("blue-cluster", *others)}) == 1 + len(others)


def test_a_registered_owner_looks_like_nobody() -> None:
    make_owner("blue-cluster")
    make_owner("Blue-Cluster")
    make_owner(_CYRILLIC, status=Owner.Status.DISCOVERED)

    found = find_look_alikes(["blue-cluster", "Blue-Cluster", _CYRILLIC, "green-cluster"])

    assert list(found) == [_CYRILLIC]


def test_every_list_marks_them(
    client: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_owner("blue-cluster")
    provider = make_provider()
    for number, owner_id in enumerate((_CYRILLIC, "blue-cluster", "red-cluster")):
        status = Owner.Status.REGISTERED if owner_id == "blue-cluster" else Owner.Status.DISCOVERED
        owner, _ = Owner.objects.get_or_create(owner_id=owner_id, defaults={"status": status})
        make_record_set(provider, f"app-{number}.example.org", owner=owner)

    with django_assert_max_num_queries(12):
        owners = {row["owner_id"]: row["looks_like"] for row in items(client, "/owners/")}
    with django_assert_max_num_queries(12):
        rows = items(client, "/record-sets/")

    wanted = {_CYRILLIC: "blue-cluster", "blue-cluster": None, "red-cluster": None}
    assert owners == wanted
    assert {row["owner"]: row["owner_looks_like"] for row in rows} == wanted
    for row in rows:
        detail = read(client.get(f"{API}/record-sets/{row['id']}/"))
        assert detail["owner_looks_like"] == wanted[row["owner"]]


def test_it_is_no_target_until_somebody_registers_it(client: APIClient) -> None:
    with open_world() as world:
        owner = make_owner(_CYRILLIC, status=Owner.Status.DISCOVERED)
        body = {
            "kind": "transfer",
            "selection": {"names": ["app-00001.example.org"]},
            "target_owner": _CYRILLIC,
            "target_intent": "same",
            "reason": "Looks right.",
        }

        refused = [client.post(f"{API}/transfers/{where}", body) for where in ("preview/", "")]
        Owner.objects.filter(pk=owner.pk).update(status=Owner.Status.REGISTERED)
        accepted = client.post(f"{API}/transfers/preview/", body)

        assert [(each.status_code, read(each)["code"]) for each in refused] == [
            (422, "target_looks_alike")
        ] * 2
        assert list(read(refused[0])["fields"]) == ["target_owner"]
        assert "\\u0435" in read(refused[0])["happened"]
        assert (accepted.status_code, Transfer.objects.count()) == (200, 0)
        assert world.reference.history.requests() == ()


def _forge(count: int) -> list[Endpoint]:
    return [
        each
        for number in range(count)
        for each in (
            make_record(f"forged-{number}.example.org"),
            make_claim(f"forged-{number}.example.org", owner=f"forged-{number}"),
        )
    ]


def test_owners_that_are_too_many_to_be_read_are_one_finding() -> None:
    with open_world([*make_zone(count=200), *_forge(120)]) as world:
        found = Finding.objects.filter(kind=Finding.Kind.UNREGISTERED_OWNER, state="open")

        assert [row.details["owners"] for row in found] == [120]
        assert world.provider.status == Provider.Status.OK


@pytest.mark.deep
def test_thousands_of_owners_at_once_become_no_rows_and_one_finding() -> None:
    with open_world(make_zone(count=10)) as world:
        known = Owner.objects.count()
        world.reference.backend.apply(ChangeSet(create=tuple(_forge(2000))))

        sync_provider(world.provider.pk, actor=SYSTEM, trigger="person")

        assert Owner.objects.count() == known
        held = HeldSnapshot.objects.get()
        assert [reason["code"] for reason in held.reasons] == ["new_owners"]
        assert "2000 new owner ids" in held.reasons[0]["text"]
        assert [row.kind for row in Finding.objects.filter(state="open")] == ["snapshot_held"]
