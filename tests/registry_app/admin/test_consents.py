"""The pages of a transfer and a hand-over where both sides must agree: who consented, and who is missing."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry_app.hand_over.request_hand_over import request_hand_over
from registry_app.models import HandOver, Transfer
from tests.reference_server import make_zone
from tests.registry_app.admin.world import address, read_text, sign_in
from tests.registry_app.hand_over.world import BLUE, open_clusters
from tests.registry_app.transfer.test_both_sides import ACTION, BOTH, make_blue, make_green
from tests.registry_app.transfer.world import ask, make_alice, make_person, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)


def _sign_in(username: str) -> Client:
    return sign_in(User.objects.get(username=username))


def test_the_page_of_a_transfer_says_who_consented_and_offers_what_is_missing() -> None:
    with open_world(approval_policy=BOTH):
        make_blue("bob")
        make_green("charlie")
        transfer = request(make_alice(), ask())
        page, act = address("transfer_change", transfer.pk), address("transfer_act", transfer.pk, "approve")
        form = {"fingerprint": transfer.plan_fingerprint}

        before = [read_text(_sign_in(name).get(page)) for name in ("alice", "bob", "charlie")]
        first = read_text(_sign_in("bob").post(act, {**form, "side": "giver"}, follow=True))
        again = _sign_in("bob").post(act, {**form, "side": "taker"})
        last = read_text(_sign_in("charlie").post(act, form, follow=True))

    assert ["Consent for" in text for text in before] == [False, True, True]
    assert "Consent for blue-cluster (gives)" in before[1]
    assert "Consent for green-cluster (takes)" in before[2]
    assert "Consent for blue-cluster (gives)" not in before[2]
    assert "blue-cluster (gives): nobody consented yet" in before[0]
    assert "You consented. The other side has to consent, too." in first
    assert "blue-cluster (gives): bob consented" in first
    assert "green-cluster (takes): nobody consented yet" in first
    assert "Consent for" not in first
    assert again.status_code == 403
    assert "You consented for blue-cluster (gives) already" in read_text(again)
    assert "Approved. It is sent as soon as a worker is free." in last
    assert "green-cluster (takes): charlie consented" in last
    assert Transfer.objects.get().status == Transfer.Status.APPROVED


def test_the_page_of_a_hand_over_says_who_consented_and_offers_what_is_missing(tmp_path: Path) -> None:
    with open_clusters(tmp_path, make_zone(BLUE, 2), approval_policy=BOTH) as clusters:
        make_blue("bob")
        make_person("carol", ACTION.APPROVE)
        row = request_hand_over(make_alice(), clusters.build_request())
        page, act = address("handover_change", row.pk), address("handover_act", row.pk, "approve")
        form = {"fingerprint": row.fingerprint}

        carol = _sign_in("carol")
        before = read_text(carol.get(page))
        unsaid = carol.post(act, form)
        first = read_text(carol.post(act, {**form, "side": "taker"}, follow=True))
        last = read_text(_sign_in("bob").post(act, form, follow=True))

    waits = "Waits for the consent of blue-cluster (gives) and of green-cluster (takes)."
    assert waits in before
    assert "Consent for blue-cluster (gives)" in before
    assert "Consent for green-cluster (takes)" in before
    assert unsaid.status_code == 422
    assert "You may consent for both sides" in read_text(unsaid)
    assert "You consented. The other side has to consent, too." in first
    assert "Waits for the consent of blue-cluster (gives)." in first
    assert "green-cluster (takes): carol consented" in first
    assert "Approved. Each name moves when the new owner wants it." in last
    assert "blue-cluster (gives): bob consented" in last
    assert HandOver.objects.get().status == HandOver.Status.RUNNING


def test_a_preview_says_that_two_people_must_consent() -> None:
    with open_world(approval_policy=BOTH):
        make_blue("alice", ACTION.REQUEST)
        form = {
            "step": "preview",
            "kind": "transfer",
            "owner": BLUE,
            "target_owner_id": "green-cluster",
            "target_intent": "same",
            "reason": "It moves.",
        }
        page = _sign_in("alice").post(address("transfer_request"), form)

    assert "Somebody for the giver and somebody else for the taker must consent." in read_text(page)


def test_the_lists_are_filtered_by_whose_consent_they_wait_for(tmp_path: Path) -> None:
    with open_clusters(tmp_path, make_zone(BLUE, 2), approval_policy=BOTH) as clusters:
        make_blue("bob")
        row = request_hand_over(make_alice(), clusters.build_request())
        transfer = request(make_alice(), ask())
        pages = {"handover": f"#{row.pk}<", "transfer": f"#{transfer.pk}<"}

        def is_listed(username: str) -> list[bool]:
            client = _sign_in(username)
            asked = {"waits_for_my_consent": "true"}
            answers = {page: client.get(address(f"{page}_changelist"), asked) for page in pages}
            return [number in answers[page].content.decode() for page, number in pages.items()]

        assert (is_listed("bob"), is_listed("alice")) == ([True, True], [False, False])
