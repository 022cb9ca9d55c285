"""Consents by program: what is shown of them, and the side in the body."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from registry_app.hand_over.request_hand_over import request_hand_over
from tests.reference_server import make_zone
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.hand_over.world import BLUE, open_clusters
from tests.registry_app.transfer.test_both_sides import ACTION, BOTH, make_blue, make_green
from tests.registry_app.transfer.world import ask, make_alice, make_person, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)


def _client(username: str, **bounds: Any) -> APIClient:
    return make_client(User.objects.get(username=username), **bounds)


def _follow(place: str, form: dict[str, Any], people: Callable[[str], APIClient]) -> list[Any]:
    """What carol, who may consent for both sides, and charlie see and do."""
    carol, charlie = people("carol"), people("charlie")
    before = read(carol.get(place))
    offered = [(each["action"], each["side"]) for each in before["allowed_actions"]]
    unsaid = carol.post(f"{place}approve/", form)
    first = read(carol.post(f"{place}approve/", {**form, "side": "giver"}))
    again = carol.post(f"{place}approve/", {**form, "side": "taker"})
    last = read(charlie.post(f"{place}approve/", form))
    assert offered == [("approve", "giver"), ("approve", "taker"), ("reject", "")]
    assert (before["consents"], before["consents_missing"]) == ([], ["giver", "taker"])
    assert (unsaid.status_code, read(unsaid)["fields"]) == (422, {"side": ["One of giver, taker."]})
    assert (again.status_code, read(again)["code"]) == (403, "other_person_needed")
    return [[(each["side"], each["by"]) for each in row["consents"]] for row in (first, last)] + [
        first["consents_missing"],
        last["consents_missing"],
        [first["status"], last["status"], last["approved_by"]],
    ]


def test_a_transfer_shows_its_consents_and_whose_are_missing() -> None:
    with open_world(approval_policy=BOTH):
        make_person("carol", ACTION.APPROVE)
        make_green("charlie")
        transfer = request(make_alice(), ask())
        form = {"fingerprint": transfer.plan_fingerprint}
        shown = _follow(f"{API}/transfers/{transfer.public_id}/", form, _client)
        listed = read(_client("carol").get(f"{API}/transfers/"))["items"][0]

    by = [("giver", "carol (deploy)"), ("taker", "charlie (deploy)")]
    assert shown == [by[:1], by, ["taker"], [], ["requested", "approved", "charlie (deploy)"]]
    assert [each["side"] for each in listed["consents"]] == ["giver", "taker"]


def test_a_hand_over_shows_its_consents_and_whose_are_missing(tmp_path: Path) -> None:
    with open_clusters(tmp_path, make_zone(BLUE, 2), approval_policy=BOTH) as clusters:
        make_person("carol", ACTION.APPROVE)
        make_green("charlie")
        row = request_hand_over(make_alice(), clusters.build_request())
        shown = _follow(f"{API}/hand-overs/{row.public_id}/", {"fingerprint": row.fingerprint}, _client)

    by = [("giver", "carol (deploy)"), ("taker", "charlie (deploy)")]
    assert shown == [by[:1], by, ["taker"], [], ["requested", "running", "charlie (deploy)"]]


def test_a_token_that_is_narrowed_to_one_owner_consents_for_that_side_alone() -> None:
    with open_world(approval_policy=BOTH):
        make_person("carol", ACTION.APPROVE)
        transfer = request(make_alice(), ask())
        narrowed = _client("carol", owner_ids=["green-cluster"])
        address = f"{API}/transfers/{transfer.public_id}/approve/"
        form = {"fingerprint": transfer.plan_fingerprint}
        refused = narrowed.post(address, {**form, "side": "giver"})
        consented = read(narrowed.post(address, form))

    assert (refused.status_code, read(refused)["code"]) == (403, "not_allowed")
    assert consented["consents_missing"] == ["giver"]


def test_a_transfer_under_another_policy_has_no_consents() -> None:
    with open_world(approval_policy="other_person"):
        make_blue("bob")
        make_person("carol", ACTION.APPROVE)
        transfer = request(make_alice(), ask())
        place = f"{API}/transfers/{transfer.public_id}/"
        form = {"fingerprint": transfer.plan_fingerprint}
        carol = _client("carol")
        one_sided = carol.post(f"{place}approve/", {**form, "side": "giver"})
        partial = _client("bob").post(f"{place}approve/", form)
        approved = read(carol.post(f"{place}approve/", form))

    assert (one_sided.status_code, read(one_sided)["fields"]) == (422, {"side": ["Leave it empty."]})
    assert partial.status_code == 403
    assert (approved["consents"], approved["consents_missing"]) == ([], [])


def test_lists_are_filtered_by_whose_consent_they_wait_for(tmp_path: Path) -> None:
    with open_clusters(tmp_path, make_zone(BLUE, 2), approval_policy=BOTH) as clusters:
        make_blue("bob")
        make_green("charlie")
        hand_over = request_hand_over(make_alice(), clusters.build_request())
        transfer = request(make_alice(), ask())
        places = {
            f"{API}/transfers/": (transfer.public_id, transfer.plan_fingerprint),
            f"{API}/hand-overs/": (hand_over.public_id, hand_over.fingerprint),
        }

        def count(username: str, **bounds: Any) -> list[int]:
            client = _client(username, **bounds)
            answers = [client.get(place, {"waits_for_my_consent": "true"}) for place in places]
            return [len(read(each)["items"]) for each in answers]

        before = [count(name) for name in ("alice", "bob", "charlie")]
        narrowed = count("bob", owner_ids=["green-cluster"])
        for place, (row_id, fingerprint) in places.items():
            answer = _client("bob").post(f"{place}{row_id}/approve/", {"fingerprint": fingerprint})
            assert answer.status_code == 200
        after = [count(name) for name in ("bob", "charlie")]
        everything = read(_client("bob").get(f"{API}/transfers/", {"waits_for_my_consent": "false"}))

    assert before == [[0, 0], [1, 1], [1, 1]]
    assert narrowed == [0, 0]
    assert after == [[0, 0], [1, 1]]
    assert len(everything["items"]) == 1
