"""Hand-overs by program: preview, request, approve, follow, and decide."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from registry_app.clock import fetch_now
from registry_app.models import HandOver
from tests.factories import make_administrator
from tests.providers.planning.planned import wanted
from tests.reference_server import make_zone
from tests.registry_app.api.client import API, items, make_client, read
from tests.registry_app.hand_over.world import BLUE, GREEN, Clusters, open_clusters

pytestmark = pytest.mark.django_db(transaction=True)
ZONE = make_zone(BLUE, 4)
NAMES = [f"app-0000{number}.example.org" for number in range(4)]
PLACE = f"{API}/hand-overs/"


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[Clusters]:
    with open_clusters(tmp_path, ZONE) as world:
        yield world


@pytest.fixture
def carol() -> APIClient:
    return make_client(make_administrator("carol"))


@pytest.fixture
def dave() -> APIClient:
    return make_client(make_administrator("dave"))


def _body(**values: Any) -> dict[str, Any]:
    ends = fetch_now() + timedelta(days=2)
    about = {"provider": "blue-zone", "from_owner": BLUE, "to_owner": GREEN, "ends_at": ends.isoformat()}
    return {**about, "reason": "It moves.", **values}


def test_a_program_moves_a_wave_and_sees_each_name(
    clusters: Clusters, carol: APIClient, dave: APIClient
) -> None:
    body = _body(waves_by="number", wave_size=2)
    plan = read(carol.post(f"{PLACE}preview/?limit=3", body))
    made = carol.post(PLACE, {**body, "fingerprint": plan["fingerprint"]})
    row = read(made)
    address = f"{PLACE}{row['id']}/"
    own = carol.post(f"{address}approve/", {"fingerprint": plan["fingerprint"]})
    running = read(dave.post(f"{address}approve/", {"fingerprint": plan["fingerprint"]}))
    clusters.green.desired = [wanted(name, targets=["203.0.113.1"]) for name in NAMES]
    clusters.green.run_once()
    clusters.work(HandOver.objects.get())
    first = items(carol, f"/hand-overs/{row['number']}/items/?wave=1")
    waiting = items(carol, f"/hand-overs/{row['number']}/items/?state=waiting")
    one = items(carol, f"/hand-overs/{row['number']}/items/?name_suffix=APP-00003.example.org")
    wave = read(carol.post(f"{address}next-wave/", {}))

    assert (plan["name_count"], plan["wave_count"], len(plan["names"])) == (4, 2, 3)
    assert made.status_code == 201
    assert made["Location"].endswith(address)
    assert read(own)["code"] == "other_person_needed"
    assert [each["action"] for each in running["allowed_actions"]] == ["next_wave", "pause", "cancel"]
    assert {each["state"] for each in first} <= {"moved", "serving"}
    assert first[0]["wanted"][0]["targets"] == ["203.0.113.1"]
    assert first[0]["live"][0]["owner"] == GREEN
    assert first[0]["transfer"]
    assert [each["name"] for each in waiting] == NAMES[2:]
    assert [each["name"] for each in one] == [NAMES[3]]
    assert (wave["wave"], wave["state_counts"]["waiting"]) == (2, 2)


def test_every_decision_has_an_operation(clusters: Clusters, carol: APIClient, dave: APIClient) -> None:
    row = read(carol.post(PLACE, _body()))
    address = f"{PLACE}{row['number']}/"
    statuses = [
        read(dave.post(f"{address}approve/", {"fingerprint": row["fingerprint"]}))["status"],
        read(carol.post(f"{address}pause/", {"reason": "Lunch."}))["status"],
        read(carol.post(f"{address}resume/", {}))["status"],
        read(carol.post(f"{address}cancel/", {}))["status"],
    ]
    second = read(carol.post(PLACE, _body()))
    rejected = read(dave.post(f"{PLACE}{second['id']}/reject/", {"reason": "No."}))
    late = dave.post(f"{PLACE}{second['id']}/pause/", {})

    assert statuses == ["running", "paused", "running", "cancelled"]
    assert (rejected["status"], rejected["status_reason"]) == ("rejected", "No.")
    assert late.status_code == 409
    assert [each["status"] for each in items(carol, "/hand-overs/?provider=blue-zone")] == [
        "rejected",
        "cancelled",
    ]
    assert items(carol, f"/hand-overs/?to_owner={BLUE}") == []


def test_a_key_takes_effect_once_and_a_dry_run_keeps_nothing(clusters: Clusters, carol: APIClient) -> None:
    tried = carol.post(f"{PLACE}?dry_run=true", _body())
    kept = HandOver.objects.count()
    body = _body()
    twice = [read(carol.post(PLACE, body, headers={"Idempotency-Key": "k"}))["id"] for _ in range(2)]

    assert (tried.status_code, kept) == (200, 0)
    assert twice[0] == twice[1]
    assert HandOver.objects.count() == 1


def test_another_plan_than_the_reviewed_one_is_refused(clusters: Clusters, carol: APIClient) -> None:
    body = _body()
    seen = read(carol.post(f"{PLACE}preview/", body))["fingerprint"]

    refused = carol.post(PLACE, {**body, "names": NAMES[:1], "fingerprint": seen})

    assert (refused.status_code, read(refused)["code"]) == (409, "plan_moved")


def test_a_refusal_names_the_field_of_the_request(clusters: Clusters, carol: APIClient) -> None:
    late = carol.post(f"{PLACE}preview/", _body(ends_at="2020-01-01T00:00:00Z"))
    sized = carol.post(f"{PLACE}preview/", _body(waves_by="share", wave_size=101))
    unknown = carol.post(f"{PLACE}preview/", _body(to_owner="nobody"))

    assert list(read(late)["fields"]) == ["ends_at"]
    assert list(read(sized)["fields"]) == ["wave_size"]
    assert list(read(unknown)["fields"]) == ["to_owner"]


def test_a_token_that_plans_begins_no_wave(clusters: Clusters, carol: APIClient) -> None:
    row = clusters.begin()
    planner = make_client(make_administrator("erin"), "read", "plan")

    refused = planner.post(f"{PLACE}{row.public_id}/next-wave/", {})
    paused = planner.post(f"{PLACE}{row.public_id}/pause/", {})

    assert read(refused)["code"] == "missing_scope"
    assert read(paused)["status"] == "paused"
