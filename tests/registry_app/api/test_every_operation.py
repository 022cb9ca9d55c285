"""What is true of every operation, taken from the schema so that none is forgotten."""

import re
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from registry_app.models import HeldSnapshot, Loop, Provider, RegistryProfile, SavedFilter, SyncRun
from tests.depth import deep_after
from tests.factories import (
    make_administrator,
    make_cluster,
    make_desired_set,
    make_finding,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_record_set,
)
from tests.registry_app.api.client import API, items, make_client, make_token, read, read_text
from tests.registry_app.api.documented import document

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.deep]

_SECRET = "s3cr3t-of-blue"
_UUID = "00000000-0000-0000-0000-000000000000"


def _operations() -> list[tuple[str, str]]:
    return sorted(
        (method, path)
        for path, methods in document()["paths"].items()
        for method in methods
        if not path.endswith("/schema/")
    )


def _fill(path: str, number: int) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: _UUID if found[1] == "public_id" else str(number), path)


def test_nobody_without_a_token_gets_an_answer(settings: Settings) -> None:
    settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = 1_000
    for method, path in _operations():
        response = getattr(APIClient(), method)(_fill(path, 1))

        assert response.status_code == 401, (method, path)
        assert response["Content-Type"] == "application/problem+json", (method, path)


@pytest.mark.deep
def test_what_is_not_there_is_a_problem_and_never_an_error_of_ours() -> None:
    client = make_client(make_administrator())
    for method, path in _operations():
        response = getattr(client, method)(_fill(path, 4711), **({} if method == "get" else {"data": {}}))

        assert response.status_code in {200, 404, 422}, (method, path)
        assert response["X-Request-Id"], (method, path)
        assert response["Cache-Control"] == "no-store", (method, path)


def test_a_token_that_only_reads_opens_no_other_door() -> None:
    client = make_client(make_administrator(), "read")
    for method, path in _operations():
        if method == "get":
            continue
        response = getattr(client, method)(_fill(path, 1), {})

        assert response.status_code == 403, (method, path)
        assert read(response)["code"] == "missing_scope", (method, path)


def test_an_unknown_field_is_refused_everywhere() -> None:
    rows: dict[str, Any] = {
        "providers": make_provider(),
        "owners": make_owner(),
        "clusters": make_cluster(),
        "registry-profiles": RegistryProfile.objects.create(name="plain"),
    }
    rows["instances"] = make_instance(rows["owners"])
    rows["loops"] = Loop.objects.create(owner=rows["owners"], provider=rows["providers"])
    rows["guard-endpoints"] = make_guard_endpoint(rows["instances"], rows["providers"])
    root = make_administrator()
    rows["saved-filters"] = SavedFilter.objects.create(user=root, name="mine", list_name="findings")
    client = make_client(root)
    for method, path in _operations():
        if method not in {"post", "patch"}:
            continue
        noun = path.removeprefix(f"{API}/").split("/")[0]
        address = _fill(path, rows[noun].pk if noun in rows else 1)
        etag = client.get(address).headers.get("ETag", "") if method == "patch" else ""

        response = getattr(client, method)(address, {"colour": "blue"}, headers={"If-Match": etag})

        assert response.status_code == 422, (method, path, response.content)
        assert "colour" in read(response)["fields"], (method, path)


def test_no_secret_is_in_any_answer() -> None:
    root = make_administrator()
    token, text = make_token(root)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    provider = make_provider(secret=_SECRET, client_key=_SECRET)
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=_SECRET)
    profile.providers.add(provider)
    owner = make_owner(registry_profile=profile)
    make_record_set(provider, owner=owner)
    make_finding(provider=provider)
    guarded = make_guard_endpoint(owner.instances.get(), provider)
    make_desired_set(guarded, "www.example.org")
    make_guard_decision(guarded)
    make_guard_step(guarded, "www.example.org")
    make_held_delete(guarded)
    issued = read(client.post(f"{API}/guard-endpoints/{guarded.pk}/credential/"))["password"]
    guarded.refresh_from_db()
    client.post(f"{API}/tokens/", {"name": "ci", "scopes": ["read"]})

    answers = [
        client.get(_fill(path, number))
        for method, path in _operations()
        for number in (1, provider.pk, token.pk, guarded.pk)
        if method == "get"
    ]

    assert sum(answer.status_code == 200 for answer in answers) > 30
    hidden = (_SECRET, text.rsplit("_", 1)[1], token.secret_hash, issued, guarded.password_hash)
    assert not [text for text in map(read_text, answers) if any(secret in text for secret in hidden)]


@pytest.mark.parametrize(
    "query",
    deep_after(1, ["limit=x", "cursor=%00", "colour=blue", "cursor=" + "A" * 3000, "limit=1&limit=2"]),
)
def test_every_list_refuses_what_it_cannot_use(query: str) -> None:
    client = make_client(make_administrator())
    for method, path in _operations():
        if method != "get" or "{" in path:
            continue
        response = client.get(f"{path}?{query}")

        assert response.status_code == 400, path
        assert read(response)["code"] == "invalid_parameter", path


@pytest.mark.deep
def test_every_operation_refuses_a_parameter_it_does_not_know_and_names_those_it_does() -> None:
    client = make_client(make_administrator())
    lists = {
        ("get", path)
        for method, path in _operations()
        if method == "get" and "{" not in path and not path.endswith("/export/")
    }

    for method, path in [*_operations(), ("get", f"{API}/schema/"), ("get", f"{API}/docs/")]:
        for query in ("colour=blue", "format=json&colour=blue", "colour=blue&colour=red"):
            response = client.generic(method, _fill(path, 1), "{}", "application/json", QUERY_STRING=query)

            problem = read(response)
            assert (response.status_code, problem["code"]) == (400, "invalid_parameter"), (method, path)
            assert response["Content-Type"] == "application/problem+json"
            reported = problem["fields"]["colour"][0]
            assert ("dry_run" in reported) == (method != "get"), (method, path, reported)
            assert ("cursor, " in reported) >= ((method, path) in lists), (method, path, reported)


def test_a_parameter_given_twice_is_refused_by_every_operation() -> None:
    client = make_client(make_administrator())

    response = client.post(f"{API}/transfers/?dry_run=true&dry_run=true", {})

    assert (response.status_code, read(response)["fields"]) == (400, {"dry_run": ["Give it once."]})


def test_the_document_and_its_viewer_take_their_own_parameters() -> None:
    client = make_client(make_administrator())

    document = client.get(f"{API}/schema/?format=json")
    script = client.get(f"{API}/docs/?script=")

    assert (document.status_code, read(document)["openapi"][:3]) == (200, "3.1")
    assert script.status_code == 200


def test_a_secret_nobody_can_decrypt_takes_no_page_with_it(settings: Settings) -> None:
    provider = make_provider(secret=_SECRET, client_key=_SECRET)
    make_provider("green-zone")
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=_SECRET)
    profile.providers.add(provider)
    make_record_set(provider, owner=make_owner(registry_profile=profile))
    make_finding(provider=provider)
    settings.DNSADMIN_ENCRYPTION_KEYS = (b"another key of thirty-two bytes.",)
    client = make_client(make_administrator())

    answers = {
        path: client.get(path).status_code
        for method, path in _operations()
        if method == "get" and "{" not in path
    }
    shown = {item["name"]: item["has_secret"] for item in items(client, "/providers/")}

    assert set(answers.values()) == {200}
    assert shown == {"blue-zone": True, "green-zone": False}


def test_lists_below_an_object_refuse_what_they_cannot_use_too() -> None:
    client = make_client(make_administrator())
    row = make_record_set(make_provider())

    response = client.get(f"{API}/record-sets/{row.pk}/events/?colour=blue")

    assert response.status_code == 400
    assert "colour" in read(response)["fields"]


def test_findings_are_listed_by_what_is_asked() -> None:
    provider = make_provider()
    make_finding(provider=provider, severity=10, name="a.example.org")
    make_finding(provider=provider, severity=30, kind="orphan_claim")
    make_finding(severity=40, state="resolved")
    client = make_client(make_administrator())

    assert [item["severity"] for item in items(client, "/findings/?severity=error")] == ["critical", "error"]
    assert len(items(client, "/findings/?state=open&provider=blue-zone")) == 2
    assert len(items(client, "/findings/?kind=orphan_claim")) == 1
    assert [item["name"] for item in items(client, "/findings/?name=A.example.org.")] == ["a.example.org"]


def test_a_finding_is_acknowledged() -> None:
    finding = make_finding(provider=make_provider())
    client = make_client(make_administrator())

    response = client.post(f"{API}/findings/{finding.pk}/acknowledge/", {"reason": "Known."})

    assert response.status_code == 200, response.content
    assert read(response)["state"] == "acknowledged"


def test_a_freeze_that_has_not_started_is_deleted_and_one_that_has_is_not() -> None:
    client = make_client(make_administrator())
    later = "2999-01-01T00:00:00Z"
    planned = read(client.post(f"{API}/freezes/", {"reason": "Change freeze.", "starts_at": later}))
    started = read(client.post(f"{API}/freezes/", {"reason": "Incident."}))

    gone = client.delete(f"{API}/freezes/{planned['id']}/")
    refused = client.delete(f"{API}/freezes/{started['id']}/")

    assert (planned["state"], started["state"]) == ("planned", "active")
    assert (gone.status_code, refused.status_code) == (204, 409)
    assert [row["id"] for row in items(client, "/freezes/")] == [started["id"]]


def test_a_freeze_begins_and_is_lifted() -> None:
    provider = make_provider()
    client = make_client(make_administrator())

    begun = client.post(f"{API}/freezes/", {"provider": provider.pk, "reason": "Change freeze."})
    lifted = client.post(f"{API}/freezes/{read(begun)['id']}/lift/", {})
    again = client.post(f"{API}/freezes/{read(begun)['id']}/lift/", {})

    assert (begun.status_code, lifted.status_code, again.status_code) == (201, 200, 409)
    assert read(lifted)["ends_at"] is not None
    assert read(again)["code"] == "state_moved"


def test_a_held_snapshot_is_accepted_once_and_shows_no_body() -> None:
    provider = make_provider(status=Provider.Status.HELD)
    run = SyncRun.objects.create(
        provider=provider, epoch=1, trigger="schedule", started_at=provider.created_at
    )
    held = HeldSnapshot.objects.create(
        provider=provider,
        sync_run=run,
        body=b"[]",
        body_digest="d",
        created_at=provider.created_at,
        last_seen_at=provider.created_at,
        reasons=[{"code": "empty", "text": "It is empty."}],
    )
    client = make_client(make_administrator())

    shown = read(client.get(f"{API}/held-snapshots/{held.pk}/"))
    first = client.post(f"{API}/held-snapshots/{held.pk}/accept/", {"reason": "It was emptied."})
    second = client.post(f"{API}/held-snapshots/{held.pk}/reject/", {"reason": "No."})

    assert "body" not in shown
    assert (first.status_code, second.status_code) == (200, 409), (first.content, second.content)
    assert read(first)["status"] == "accepted"


@pytest.mark.parametrize("path", ["syncs", "visits"])  # the second is the old one
def test_a_sync_is_asked_for_and_not_waited_for(path: str) -> None:
    provider = make_provider()
    client = make_client(make_administrator())

    response = client.post(f"{API}/providers/{provider.pk}/{path}/", {})

    provider.refresh_from_db()
    assert response.status_code == 202
    assert response["Location"].endswith(f"/sync-runs/?provider={provider.pk}")
    assert provider.next_sync_at is not None
    assert read(response)["next_sync_at"] == read(response)["next_visit_at"]


def test_one_sees_and_revokes_only_ones_own_tokens() -> None:
    alice, root = make_administrator("alice"), make_administrator("root")
    token, _ = make_token(alice)
    client = make_client(root, "read", "admin")

    seen = [item["id"] for item in items(client, "/tokens/")]

    assert token.pk not in seen
    assert client.get(f"{API}/tokens/{token.pk}/").status_code == 404


def test_a_revoked_token_is_turned_away() -> None:
    alice = make_administrator("alice")
    token, text = make_token(alice)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")

    revoked = client.delete(f"{API}/tokens/{token.pk}/")

    assert revoked.status_code == 204
    assert client.get(f"{API}/tokens/").status_code == 401
