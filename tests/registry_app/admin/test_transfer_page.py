"""The page of a transfer: how far it is, what was sent, and what may be done."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from registry_app.actor import Actor
from registry_app.models import Grant, Provider, Transfer
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
from registry_app.transfer.request_transfer import request_transfer
from tests.factories import make_administrator, make_owner, make_user
from tests.registry_app.admin.world import (
    address,
    make_claimed,
    make_fresh_provider,
    make_member,
    make_team,
    make_transfer,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


def _make_transfer(**values: Any) -> Transfer:
    return make_transfer(make_fresh_provider(), make_owner(), make_owner("green-cluster"), **values)


def _request_as(user: User) -> Transfer:
    provider = make_fresh_provider(approval_policy=Provider.ApprovalPolicy.OTHER_PERSON)
    make_claimed(provider, make_owner())
    make_owner("green-cluster", policy="upsert-only")
    wanted = TransferRequest(
        kind=Transfer.Kind.TRANSFER,
        selection=Selection(owner_id="blue-cluster"),
        target_owner_id="green-cluster",
        target_intent=Transfer.TargetIntent.SAME,
        reason="The shop moves.",
    )
    actor = Actor("user", user.username, user_id=user.pk, is_superuser=user.is_superuser)
    return request_transfer(actor, wanted)[0]


def test_the_page_shows_the_claims_before_and_after() -> None:
    transfer = _make_transfer()
    client = sign_in(make_administrator())

    page = read_text(client.get(address("transfer_change", transfer.pk)))

    assert "- a-www.example.org TXT" in page
    assert "+ a-www.example.org TXT" in page
    assert "Nothing was sent." in page


def test_bob_approves_what_alice_requested_and_alice_may_not() -> None:
    team = make_team("team-blue", Grant.Action.REQUEST, Grant.Action.APPROVE)
    alice, bob = make_member("alice", team), make_member("bob", team)
    transfer = _request_as(alice)
    form = {"fingerprint": transfer.plan_fingerprint}
    url = address("transfer_act", transfer.pk, "approve")

    by_alice = sign_in(alice).post(url, form)
    by_bob = sign_in(bob).post(url, form)

    assert by_alice.status_code in (403, 409)
    assert by_bob.status_code == 302
    transfer.refresh_from_db()
    assert (transfer.status, transfer.approved_by) == ("approved", bob)


def test_the_auditor_sees_no_button_and_a_forged_post_changes_nothing() -> None:
    transfer = _make_transfer(requested_by=make_user("alice"))
    dora = sign_in(make_user("dora"))

    page = dora.get(address("transfer_change", transfer.pk))
    answers = [
        dora.post(address("transfer_act", transfer.pk, action), {"reason": "x", "fingerprint": "f" * 64})
        for action in ("approve", "reject", "cancel", "look_again", "send_again", "keep_as_is")
    ]

    assert 'class="dn-act"' not in read_text(page)
    assert {answer.status_code for answer in answers} <= {403, 409}
    transfer.refresh_from_db()
    assert transfer.status == "requested"


def test_a_stale_approval_is_refused() -> None:
    transfer = _make_transfer(requested_by=make_user("alice"))
    client = sign_in(make_administrator())

    response = client.post(address("transfer_act", transfer.pk, "approve"), {"fingerprint": "0" * 64})

    assert response.status_code == 409
    transfer.refresh_from_db()
    assert transfer.status == "requested"


def test_a_rejection_without_a_reason_keeps_the_page_and_one_with_a_reason_is_done() -> None:
    transfer = _make_transfer(requested_by=make_user("alice"))
    client = sign_in(make_administrator())
    url = address("transfer_act", transfer.pk, "reject")

    client.post(url, {"reason": ""})
    done = client.post(url, {"reason": "Not this week."}, follow=True)

    transfer.refresh_from_db()
    assert transfer.status == "rejected"
    assert "Rejected" in read_text(done)


def test_an_act_is_never_done_by_a_link() -> None:
    transfer = _make_transfer()
    client = sign_in(make_administrator())

    response = client.get(address("transfer_act", transfer.pk, "cancel"))

    assert response.status_code == 405


def test_the_progress_is_small_fresh_and_true() -> None:
    transfer = _make_transfer(status="sending", plan_fingerprint="a" * 64, approved_fingerprint="a" * 64)
    client = sign_in(make_administrator())

    page = read_text(client.get(address("transfer_change", transfer.pk)))
    answer = client.get(address("transfer_progress", transfer.pk))

    assert "dnsadmin/progress.js" in page
    assert "no-store" in answer.headers["Cache-Control"]
    state = answer.json()
    assert (state["status"], state["is_moving"], state["percent"]) == ("sending", True, 0)


def test_what_needs_an_operator_is_decided_with_the_consequences_in_view() -> None:
    transfer = _make_transfer(status="needs_operator")
    transfer.items.update(status="needs_operator")
    client = sign_in(make_administrator())

    page = read_text(client.get(address("transfer_change", transfer.pk)))
    client.post(address("transfer_act", transfer.pk, "keep_as_is"), {"reason": "Settled by hand."})

    assert "Nothing is read or sent." in page
    transfer.refresh_from_db()
    assert transfer.status == "failed"


def test_an_undo_is_looked_at_before_it_is_requested() -> None:
    transfer = _make_transfer(status="verified", plan_fingerprint="a" * 64, approved_fingerprint="a" * 64)
    transfer.items.update(status="verified", owner_before="blue-cluster")
    client = sign_in(make_administrator())

    page = read_text(client.get(address("transfer_change", transfer.pk)))
    preview = client.get(address("transfer_undo", transfer.pk))

    assert address("transfer_undo", transfer.pk) in page
    assert preview.status_code == 200
    assert not Transfer.objects.filter(kind="undo").exists()


def test_an_undo_of_what_was_never_done_leads_back() -> None:
    transfer = _make_transfer()
    client = sign_in(make_administrator())

    response = client.get(address("transfer_undo", transfer.pk), follow=True)

    assert response.redirect_chain[0][0] == address("transfer_change", transfer.pk)
    assert "cannot be undone" in read_text(response)


def test_a_transfer_is_found_in_the_list_by_its_number_and_by_its_public_id() -> None:
    wanted = _make_transfer()
    red = make_owner("red-cluster")
    other = make_transfer(wanted.provider, red, make_owner("pink-cluster"))
    client = sign_in(make_administrator())

    for typed in (str(wanted.pk), f"#{wanted.pk}", str(wanted.public_id)):
        found: Any = client.get(address("transfer_changelist"), {"transfer": typed})
        assert [row.pk for row in found.context["cl"].queryset] == [wanted.pk], typed
    nothing: Any = client.get(address("transfer_changelist"), {"transfer": "perhaps"})

    assert list(nothing.context["cl"].queryset) == []
    assert other.pk != wanted.pk
