"""One name for one thing: providers by id or name, owners by owner id, one word for each filter."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from registry_app.models import Instance, Loop, Owner, Provider, RegistryProfile
from tests.factories import make_administrator, make_owner, make_provider, make_record_set
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.api.documented import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


@pytest.fixture
def blue_zone() -> Provider:
    return make_provider("blue-zone")


def test_an_address_takes_a_provider_by_id_or_name(client: APIClient, blue_zone: Provider) -> None:
    by_id = client.get(f"{API}/providers/{blue_zone.pk}/")
    by_name = client.get(f"{API}/providers/blue-zone/")
    changed = client.patch(
        f"{API}/providers/blue-zone/", {"name": "azure-zone"}, headers={"If-Match": by_name["ETag"]}
    )
    synced = client.post(f"{API}/providers/azure-zone/syncs/", {})

    assert read(by_id) == read(by_name)
    assert (changed.status_code, read(changed)["name"]) == (200, "azure-zone")
    assert (synced.status_code, read(synced)["provider"]) == (202, blue_zone.pk)
    assert client.get(f"{API}/providers/blue-zone/").status_code == 404
    assert client.get(f"{API}/providers/a%00b/").status_code == 404


def test_digits_in_an_address_are_an_id_before_they_are_a_name(
    client: APIClient, blue_zone: Provider
) -> None:
    make_provider(str(blue_zone.pk), url="http://127.0.0.1:8")
    numbered = make_provider("4711", url="http://127.0.0.1:7")

    assert read(client.get(f"{API}/providers/{blue_zone.pk}/"))["name"] == "blue-zone"
    assert read(client.get(f"{API}/providers/4711/"))["id"] == numbered.pk


def test_an_address_takes_an_owner_by_owner_id(client: APIClient) -> None:
    owner = make_owner("blue-cluster")

    by_id = client.get(f"{API}/owners/{owner.pk}/")
    by_owner_id = client.get(f"{API}/owners/blue-cluster/")
    changed = client.patch(
        f"{API}/owners/blue-cluster/", {"description": "The shop."}, headers={"If-Match": "*"}
    )
    deleted = client.delete(f"{API}/owners/blue-cluster/", headers={"If-Match": "*"})

    assert read(by_id) == read(by_owner_id)
    assert (changed.status_code, deleted.status_code) == (200, 204)
    assert not Owner.objects.exists()


@pytest.mark.parametrize("is_name", [True, False])
def test_a_body_takes_a_provider_by_id_or_name(client: APIClient, blue_zone: Provider, is_name: bool) -> None:
    make_owner("blue-cluster")
    named: Any = "blue-zone" if is_name else blue_zone.pk

    answers = [
        client.post(f"{API}/freezes/", {"provider": named, "reason": "Change freeze."}),
        client.post(f"{API}/instances/", {"owner": "blue-cluster", "name": "one", "provider": named}),
        client.post(f"{API}/loops/", {"owner": "blue-cluster", "provider": named, "is_enabled": False}),
        client.post(f"{API}/registry-profiles/", {"name": "own", "prefix": "own-", "providers": [named]}),
    ]

    assert [answer.status_code for answer in answers] == [201] * 4, [answer.content for answer in answers]
    assert read(answers[0])["provider"]["name"] == "blue-zone"
    assert Instance.objects.get().provider == Loop.objects.get().provider == blue_zone
    assert list(RegistryProfile.objects.get(name="own").providers.all()) == [blue_zone]


@pytest.mark.parametrize("named", ["nowhere", 4711, True, ["blue-zone"], 1.5])
def test_a_body_that_names_no_provider_is_refused_by_field(client: APIClient, named: Any) -> None:
    make_owner("blue-cluster")

    answer = client.post(f"{API}/instances/", {"owner": "blue-cluster", "provider": named})

    assert (answer.status_code, list(read(answer)["fields"])) == (422, ["provider"])


def _preview(client: APIClient, **selection: Any) -> Any:
    body = {"kind": "transfer", "target_owner": "green-cluster", "reason": "x", "selection": selection}
    return client.post(f"{API}/transfers/preview/", body)


@pytest.mark.parametrize(
    "selection",
    [
        {"type": "A"},
        {"type": ["a"]},
        {"type": "A,MX", "state": ["owned", "conflict"]},
        {"types": ["A"], "states": ["owned"]},
        {"type": "A", "states": ["owned"], "provider": "blue-zone"},
    ],
)
def test_a_selection_takes_one_value_or_several_and_the_old_names(
    client: APIClient, blue_zone: Provider, selection: dict[str, Any]
) -> None:
    blue = make_owner("blue-cluster")
    make_owner("green-cluster")
    for record_type in ("A", "AAAA"):
        make_record_set(blue_zone, "www.example.org", record_type=record_type, owner=blue, state="owned")

    answer = _preview(client, owner="blue-cluster", **selection)

    (plan,) = read(answer)["plans"]
    assert [item["record_type"] for item in plan["items"] if not item["is_added"]] == ["A"]


def test_an_old_name_beside_the_new_one_is_refused(client: APIClient) -> None:
    answer = _preview(client, owner="blue-cluster", type="A", types=["A"])

    assert answer.status_code == 422
    assert read(answer)["fields"] == {
        "selection.types": ["This is the old name of `type`. Give one of the two."]
    }


@pytest.mark.parametrize("words", ["", " , ", 5, [5], [""], ["x" * 21], ["A"] * 51, None])
def test_words_that_cannot_be_used_are_refused_by_field(client: APIClient, words: Any) -> None:
    answer = _preview(client, owner="blue-cluster", type=words)

    assert (answer.status_code, next(iter(read(answer)["fields"]))) == (422, "selection.type")


def test_the_document_marks_the_old_names_and_no_others() -> None:
    reported = document()
    parameters = {
        (path, parameter["name"])
        for path, methods in reported["paths"].items()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter.get("deprecated")
    }
    fields = {
        (name, field)
        for name, component in reported["components"]["schemas"].items()
        for field, shape in component.get("properties", {}).items()
        if shape.get("deprecated")
    }

    assert parameters == {(f"{API}/record-sets/{rest}", "name__suffix") for rest in ("", "export/")}
    assert fields == {
        ("SelectionBody", "types"),
        ("SelectionBody", "states"),
        ("SyncRequestAnswer", "next_visit_at"),
        *(
            (shape, old)
            for shape in ("ProviderAnswer", "SavedProviderAnswer")
            for old in ("next_visit_at", "last_visit_at")
        ),
    }
