"""ETag, If-Match and If-None-Match, as RFC 9110 has them."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from registry_app.models import Provider
from tests.factories import make_administrator, make_cluster, make_provider, make_record_set
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.api.every_write import fill, open_busy_world, operations

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def _change(client: APIClient, address: str, if_match: str, value: str) -> Any:
    return client.patch(address, {"description": value}, headers={"If-Match": if_match})


def test_a_change_names_the_version_it_was_made_from(client: APIClient) -> None:
    address = f"{API}/clusters/{make_cluster().pk}/"
    first = client.get(address)["ETag"]

    changed = _change(client, address, first, "one")
    stale = _change(client, address, first, "two")
    among_others = _change(client, address, f'"other", , W/"x" ,{changed["ETag"]}', "three")
    weak = _change(client, address, f"W/{among_others['ETag']}", "four")
    any_version = _change(client, address, " * ", "five")

    answers = (changed, stale, among_others, weak, any_version)
    assert [answer.status_code for answer in answers] == [200, 412, 200, 412, 200]
    assert read(client.get(address))["description"] == "five"


def test_any_version_of_what_is_not_there_is_not_there(client: APIClient) -> None:
    assert _change(client, f"{API}/clusters/4711/", "*", "x").status_code == 404


def test_a_header_that_cannot_be_read_is_refused_before_anything_is_done(client: APIClient) -> None:
    address = f"{API}/clusters/{make_cluster().pk}/"

    for text in ("17", '"a', 'a"', '"a" "b"', '"a",b', "", "*, *", 'w/"a"', '"a b"'):
        changed = _change(client, address, text, "x")
        shown = client.get(address, headers={"If-None-Match": text})

        assert (changed.status_code, list(read(changed)["fields"])) == (400, ["If-Match"]), text
        assert (shown.status_code, list(read(shown)["fields"])) == (400, ["If-None-Match"]), text
    assert read(client.get(address))["description"] == ""


def test_what_the_client_has_is_not_sent_again(client: APIClient) -> None:
    address = f"{API}/clusters/{make_cluster().pk}/"
    etag = client.get(address)["ETag"]

    for text in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = client.get(address, headers={"If-None-Match": text})

        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag), text
        assert answer["X-Request-Id"]
    assert client.head(address, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200


def test_what_differs_in_any_byte_is_sent(client: APIClient) -> None:
    """A sync counts record sets without changing what people entered: the tag names all that is shown."""
    provider = make_provider()
    address = f"{API}/providers/{provider.pk}/"
    etag = client.get(address)["ETag"]
    Provider.objects.filter(pk=provider.pk).update(record_set_count=17)

    answer = client.get(address, headers={"If-None-Match": etag})
    changed = _change(client, address, etag, "Made from the same version.")

    assert (answer.status_code, read(answer)["record_set_count"]) == (200, 17)
    assert answer["ETag"] != etag
    assert changed.status_code == 200


def test_a_list_is_sent_again_only_when_its_page_changed(client: APIClient) -> None:
    provider = make_provider()
    for number in range(3):
        make_record_set(provider, f"app-{number}.example.org")
    address = f"{API}/record-sets/?limit=2"
    etag = client.get(address)["ETag"]

    same = client.get(address, headers={"If-None-Match": etag})
    other_page = client.get(f"{API}/record-sets/?limit=1", headers={"If-None-Match": etag})

    assert (same.status_code, other_page.status_code) == (304, 200)


@pytest.mark.deep
def test_every_operation_that_reads_answers_304() -> None:
    with open_busy_world() as world:
        for name, (method, path) in operations().items():
            address = fill(world, path, {"id": name.split("/")[1].removesuffix("s"), "public_id": "verified"})
            first = world.client.get(address) if method == "get" else None
            if first is None or first.status_code != 200:
                continue
            if path.endswith(("/export/", "/zone-file/")):
                # It is written while it is read: nobody knows its digest before its end.
                assert "ETag" not in first, name
                continue

            again = world.client.get(address, headers={"If-None-Match": first["ETag"]})

            assert again.status_code == 304, name


def test_a_problem_has_no_tag(client: APIClient) -> None:
    answer = client.get(f"{API}/clusters/4711/", headers={"If-None-Match": "*"})

    assert answer.status_code == 404
    assert "ETag" not in answer
