"""Transfers over real HTTP: asked for, reviewed, approved by another person, sent, undone."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from pytest_django.live_server_helper import LiveServer

from providers.wire.change_set import ChangeSet
from registry_app.actor import SYSTEM
from registry_app.models import Provider, RecordSet, Transfer
from registry_app.reconcile.sync import sync_provider
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator, make_owner, make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.api.client import API, make_token
from tests.registry_app.api.documented import raise_if_not_documented

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


class Program:
    """A program with a token, over HTTP."""

    def __init__(self, address: str, username: str) -> None:
        self._address = address
        _, text = make_token(make_administrator(username))
        self._headers = {"Authorization": f"Bearer {text}"}

    def get(self, path: str) -> Any:
        answer = requests.get(self._address + path, headers=self._headers, timeout=30)
        assert answer.status_code == 200, answer.text
        _raise_if_not_documented(answer)
        return answer.json()

    def post(self, path: str, body: dict[str, Any], **headers: str) -> requests.Response:
        everything = {**self._headers, **headers}
        answer = requests.post(self._address + path, json=body, headers=everything, timeout=30)
        _raise_if_not_documented(answer)
        return answer


def _raise_if_not_documented(answer: requests.Response) -> None:
    path = urlsplit(answer.url).path
    content_type = answer.headers.get("Content-Type", "")
    raise_if_not_documented(
        str(answer.request.method), path, answer.status_code, content_type, answer.content
    )


@pytest.fixture
def zone() -> Iterator[ReferenceProvider]:
    with ReferenceProvider(make_zone("blue-cluster", 10)) as provider:
        yield provider


@pytest.fixture
def blue_zone(zone: ReferenceProvider) -> Provider:
    """A provider whose mirror is true, and a green cluster that wants what blue has."""
    provider = make_provider("blue-zone", url=zone.url, read_back_seconds=5, max_transfer_percent=100)
    make_owner("green-cluster")
    sync_provider(provider.pk, actor=SYSTEM, trigger="person")
    return provider


@pytest.fixture
def alice(live_server: LiveServer) -> Program:
    return Program(live_server.url + API, "alice")


@pytest.fixture
def bob(live_server: LiveServer) -> Program:
    return Program(live_server.url + API, "bob")


def _request(**values: Any) -> dict[str, Any]:
    return {
        "kind": "transfer",
        "selection": {"owner": "blue-cluster"},
        "target_owner": "green-cluster",
        "target_intent": "same",
        "reason": "Green takes the shop over.",
        **values,
    }


def _preview(program: Program) -> tuple[dict[str, Any], dict[str, Any]]:
    """The plan, and the request that carries what was seen in it."""
    answer = program.post("/transfers/preview/", _request())
    assert answer.status_code == 200, answer.text
    plan = answer.json()["plans"][0]
    seen = {str(plan["provider"]["id"]): plan["fingerprint"]}
    return plan, _request(fingerprints=seen, confirmation=plan["confirmation_text"])


def test_the_answer_lists_what_goes_along_and_leaving_it_is_confirmed(
    zone: ReferenceProvider, blue_zone: Provider, alice: Program
) -> None:
    name = "app-00000.example.org"
    added = (make_record(name, "AAAA", ("2001:db8::1",)), make_claim(name, "AAAA"))
    zone.backend.apply(ChangeSet(create=added))
    sync_provider(blue_zone.pk, actor=SYSTEM, trigger="person")
    asked = _request(selection={"names": [name], "types": ["A"]})

    plan = alice.post("/transfers/preview/", asked).json()["plans"][0]
    left = alice.post("/transfers/", {**asked, "whole_names": False})
    taken = alice.post("/transfers/", asked)

    assert [(item["record_type"], item["is_added"]) for item in plan["items"]] == [
        ("A", False),
        ("AAAA", True),
    ]
    assert plan["added_count"] == 1
    assert (left.status_code, left.json()["code"]) == (409, "confirmation_needed")
    assert left.json()["confirmation_text"] == "transfer 1 record set to green-cluster and leave 1 behind"
    answer = taken.json()
    transfer = answer["transfers"][0]["id"]
    assert answer["added_count"] == 1
    assert answer["added"] == [{"transfer": transfer, "name": name, "type": "AAAA", "set_identifier": ""}]
    items = alice.get(f"/transfers/{transfer}/items/")["items"]
    assert [item["is_added"] for item in items] == [False, True]


def test_a_transfer_goes_from_preview_to_verified_and_back(
    zone: ReferenceProvider, blue_zone: Provider, alice: Program, bob: Program
) -> None:
    before = zone.zone_bytes()
    plan, asked = _preview(alice)
    assert plan["refusals"] == []
    assert plan["item_count"] == 10

    requested = alice.post("/transfers/", asked, **{"Idempotency-Key": "k1"})
    replayed = alice.post("/transfers/", asked, **{"Idempotency-Key": "k1"})

    assert requested.status_code == 201, requested.text
    assert replayed.json() == requested.json()
    transfer = requested.json()["transfers"][0]
    assert requested.headers["Location"].endswith(f"/transfers/{transfer['id']}/")
    assert (transfer["status"], Transfer.objects.count()) == ("requested", 1)

    fingerprint = {"fingerprint": transfer["plan_fingerprint"]}
    own = alice.post(f"/transfers/{transfer['id']}/approve/", fingerprint)
    approved = bob.post(f"/transfers/{transfer['id']}/approve/", fingerprint)
    run_transfer(Transfer.objects.get().pk)

    detail = bob.get(f"/transfers/{transfer['id']}/")
    items = bob.get(f"/transfers/{transfer['id']}/items/?limit=4")
    steps = bob.get(f"/transfers/{transfer['id']}/steps/")
    assert own.status_code == 403, own.text
    assert approved.status_code == 200, approved.text
    assert (detail["status"], detail["progress"]["verified"]) == ("verified", 10)
    assert len(items["items"]) == 4
    assert items["next"]
    assert len(steps["items"]) >= 1
    assert b"owner=blue-cluster" not in zone.zone_bytes()
    assert zone.zone_bytes() == before.replace(b"owner=blue-cluster", b"owner=green-cluster")
    owners = {item["owner"] for item in alice.get("/record-sets/")["items"]}
    assert owners == {"green-cluster"}

    refused = alice.post(f"/transfers/{transfer['id']}/undo/", {"reason": "Too early.", "confirmation": ""})
    assert (refused.status_code, refused.json()["code"]) == (409, "confirmation_needed")
    text = refused.json()["confirmation_text"]
    undo = alice.post(f"/transfers/{transfer['id']}/undo/", {"reason": "Too early.", "confirmation": text})
    assert undo.status_code == 201, undo.text
    bob.post(f"/transfers/{undo.json()['id']}/approve/", {"fingerprint": undo.json()["plan_fingerprint"]})
    run_transfer(Transfer.objects.get(public_id=undo.json()["id"]).pk)
    assert zone.zone_bytes() == before
    assert bob.get(f"/transfers/{transfer['id']}/")["status"] == "rolled_back"


def test_a_plan_that_moved_since_the_preview_is_refused(blue_zone: Provider, alice: Program) -> None:
    _, asked = _preview(alice)
    RecordSet.objects.filter(name="app-00003.example.org").update(targets=["192.0.2.99"])

    answer = alice.post("/transfers/", asked)

    assert answer.status_code == 409, answer.text
    assert answer.json()["code"] == "plan_moved"
    assert not Transfer.objects.exists()


def test_an_approval_of_another_plan_is_refused(blue_zone: Provider, alice: Program, bob: Program) -> None:
    transfer = alice.post("/transfers/", _preview(alice)[1]).json()["transfers"][0]

    answer = bob.post(f"/transfers/{transfer['id']}/approve/", {"fingerprint": "0" * 64})

    assert answer.status_code == 409
    assert Transfer.objects.get().status == "requested"


def test_a_transfer_is_rejected_or_cancelled_once(blue_zone: Provider, alice: Program, bob: Program) -> None:
    transfer = alice.post("/transfers/", _preview(alice)[1]).json()["transfers"][0]

    rejected = bob.post(f"/transfers/{transfer['id']}/reject/", {"reason": "Not today."})
    cancelled = alice.post(f"/transfers/{transfer['id']}/cancel/", {"reason": "Not today."})

    assert (rejected.status_code, cancelled.status_code) == (200, 409), (rejected.text, cancelled.text)
    assert Transfer.objects.get().status == "rejected"


def test_a_request_that_makes_no_sense_is_refused_and_stores_nothing(
    blue_zone: Provider, alice: Program
) -> None:
    rows: list[tuple[dict[str, Any], set[int]]] = [
        ({"kind": "undo"}, {422}),
        ({"kind": "steal"}, {422}),
        ({"selection": {}}, {422}),
        ({"selection": {"owner": "nobody"}}, {404, 422}),
        ({"selection": {"names": ["a..b"]}}, {404, 422}),
        ({"selection": {"names": ["nowhere.example.org"]}}, {404, 409, 422}),
        ({"selection": {"record_set_ids": [4711]}}, {404, 422}),
        ({"selection": {"record_set_ids": [-1]}}, {422}),
        ({"selection": {"record_set_ids": [2**63]}}, {422}),
        ({"selection": {"provider": 4711, "owner": "blue-cluster"}}, {404, 422}),
        ({"target_owner": "nobody"}, {404, 409, 422}),
        ({"target_owner": "blue-cluster"}, {409, 422}),
        ({"reason": ""}, {422}),
        ({"reason": "x" * 6000}, {422}),
        ({"fingerprints": {"x": "y"}}, {422}),
        ({"fingerprints": {"1": "0" * 64}}, {409}),
    ]
    for change, statuses in rows:
        answer = alice.post("/transfers/", _request(**change))

        assert answer.status_code in statuses, (change, answer.text)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert not Transfer.objects.exists(), change


def test_a_program_that_saw_no_plan_waits_and_one_that_did_is_applied(
    blue_zone: Provider, alice: Program, bob: Program
) -> None:
    Provider.objects.update(approval_policy="none")

    blind = alice.post("/transfers/", _request()).json()["transfers"][0]
    alice.post(f"/transfers/{blind['id']}/cancel/", {"reason": "Not looked at."})
    _, asked = _preview(alice)
    seen = alice.post("/transfers/", asked).json()["transfers"][0]
    run_transfer(seen["number"])
    where = f"/transfers/{seen['number']}/undo/"
    plan = alice.post(f"{where}preview/", {"target_intent": "same"}).json()["plans"][0]
    undo = {"reason": "Back.", "target_intent": "same"}
    without = alice.post(where, undo).json()
    alice.post(f"/transfers/{without['number']}/cancel/", {"reason": "Not looked at."})
    with_it = alice.post(where, {**undo, "fingerprint": plan["fingerprint"]}).json()

    assert (blind["status"], seen["status"]) == ("requested", "approved")
    assert plan["verdict_counts"] == {"no_op": 10}
    assert (without["status"], with_it["status"]) == ("requested", "approved")
    assert with_it["target_intent"] == "same"


def test_a_transfer_is_found_by_its_number_and_by_its_id(blue_zone: Provider, alice: Program) -> None:
    transfer = alice.post("/transfers/", _request()).json()["transfers"][0]

    by_number = alice.get(f"/transfers/{transfer['number']}/")
    by_id = alice.get(f"/transfers/{transfer['id']}/")
    items = alice.get(f"/transfers/{transfer['number']}/items/")
    missing = alice.post("/transfers/999999999/cancel/", {"reason": "No."})

    assert by_number == by_id
    assert transfer["number"] == Transfer.objects.get().pk
    assert len(items["items"]) == 10
    assert missing.status_code == 404
