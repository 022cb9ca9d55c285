"""Where another person has to approve, two different people are behind request and approval."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.errors import NotAllowed
from registry_app.models import AuditEntry, Provider, Transfer
from registry_app.queries.transfer import allowed_actions
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator, make_user
from tests.registry_app.api.client import API
from tests.registry_app.transfer.world import (
    approve,
    ask,
    make_actor,
    make_alice,
    make_bob,
    open_world,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = Transfer.Status


def _by_token(person: Actor, issuer: Actor) -> Actor:
    return replace(person, kind="token", name=f"{person.name} (deploy)", issuer_id=issuer.user_id)


def _root() -> Actor:
    return make_actor(make_administrator())


Cast = tuple[Actor, Actor]


def _requested_with_a_token_the_approver_issued() -> Cast:
    root = _root()
    return _by_token(make_alice(), root), root


def _approved_with_a_token_the_requester_issued() -> Cast:
    root = _root()
    return root, _by_token(make_bob(), root)


def _both_with_tokens_of_one_issuer() -> Cast:
    root = _root()
    return _by_token(make_alice(), root), _by_token(make_bob(), root)


def _with_a_token_nobody_knows_the_issuer_of() -> Cast:
    return replace(make_alice(), kind="token", issuer_id=None), _root()


@pytest.mark.parametrize(
    "cast",
    [
        _requested_with_a_token_the_approver_issued,
        _approved_with_a_token_the_requester_issued,
        _both_with_tokens_of_one_issuer,
        _with_a_token_nobody_knows_the_issuer_of,
    ],
)
def test_who_issued_a_token_is_behind_what_it_does(cast: Callable[[], Cast]) -> None:
    requester, approver = cast()
    with open_world(approval_policy="other_person") as world:
        transfer = request(requester, ask())

        with pytest.raises(NotAllowed) as refused:
            approve(approver, transfer)
        run_transfer(transfer.pk)

        assert refused.value.code == "other_person_needed"
        assert "approve" not in [each.action for each in allowed_actions(approver, transfer)]
        assert world.change_sets() == []


def test_tokens_of_two_people_who_issued_them_themselves_are_two_people() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(_by_token(alice, alice), ask())

        approved = approve(_by_token(bob, bob), transfer)

        assert approved.status == STATUS.APPROVED


def test_the_database_refuses_one_person_on_both_sides() -> None:
    root = _root()
    with open_world(approval_policy="other_person"):
        transfer = request(_by_token(make_alice(), root), ask())
        row = Transfer.objects.filter(pk=transfer.pk)

        with pytest.raises(IntegrityError), transaction.atomic():
            row.update(approved_by=root.user_id, approved_by_issuer=root.user_id)


@pytest.mark.parametrize("made", ["account", "password"])
def test_who_just_made_an_account_or_set_its_password_is_not_another_person(made: str) -> None:
    root_row = make_administrator()
    pages = Client()
    pages.force_login(root_row)
    password = {"password1": "a-long-enough-passphrase", "password2": "a-long-enough-passphrase"}
    if made == "account":
        pages.post("/admin/auth/user/add/", {"username": "bob", "usable_password": "true", **password})
        make_bob()
    else:
        pages.post(
            f"/admin/auth/user/{make_bob().user_id}/password/", {"usable_password": "true", **password}
        )
    bob = make_actor(User.objects.get(username="bob"))
    with open_world(approval_policy="other_person"):
        transfer = request(make_actor(root_row), ask())

        with pytest.raises(NotAllowed, match="created the other person's account, or set its password"):
            approve(bob, transfer)
        AuditEntry.objects.update(at=timezone.now() - timedelta(hours=25))

        assert approve(bob, transfer).status == STATUS.APPROVED


def test_a_stricter_policy_holds_for_what_was_approved_and_not_sent_yet() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        assert transfer.status == STATUS.APPROVED
        Provider.objects.update(approval_policy="other_person")

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert (transfer.status, transfer.approved_by_name) == (STATUS.REQUESTED, "")
        assert "asks for another person's approval" in transfer.status_reason
        assert world.change_sets() == []


def test_a_looser_policy_holds_for_no_transfer_that_was_requested_before() -> None:
    root = _root()
    with open_world(approval_policy="other_person"):
        transfer = request(root, ask())
        Provider.objects.update(approval_policy="none")

        with pytest.raises(NotAllowed):
            approve(root, transfer)


def test_a_token_for_another_names_its_issuer_who_counts_when_it_approves() -> None:
    root, alice = make_administrator(), make_user("alice")
    session = Client()
    session.force_login(root)

    body = {"name": "for alice", "scopes": ["plan", "read"], "user": alice.pk}
    issued = session.post(f"{API}/tokens/", body, content_type="application/json")
    shown = session.get("/admin/registry_app/apitoken/")

    assert issued.status_code == 201, issued.content
    assert issued.json()["issued_by"] == "root"
    assert issued.json()["user"] == "alice"
    assert shown.status_code == 200
