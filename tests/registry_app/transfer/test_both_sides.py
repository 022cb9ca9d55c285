"""Where both sides must agree, somebody for the giver and somebody else for the taker consent."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.models import AuditEntry, Grant, Provider, Transfer
from registry_app.queries.consent import list_consents, list_missing_sides
from registry_app.queries.transfer import allowed_actions, progress
from registry_app.queries.write_invariants import find_unapproved_writes
from registry_app.transfer.decisions import approve_transfer, cancel_transfer, reject_transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator, make_user
from tests.reference_server import make_record, make_zone
from tests.registry_app.transfer.test_approval import side_by_side
from tests.registry_app.transfer.test_other_kinds import LEGACY
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_actor,
    make_alice,
    make_person,
    open_world,
    owners,
    plan,
    register_owner,
    request,
    undo_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)
ACTION, STATUS = Grant.Action, Transfer.Status
BOTH = Provider.ApprovalPolicy.BOTH_SIDES


def make_blue(username: str, *actions: Grant.Action) -> Actor:
    """Somebody of team-blue, with grants over blue-cluster alone."""
    return make_person(username, *(actions or (ACTION.APPROVE,)), owner=register_owner(BLUE))


def make_green(username: str, *actions: Grant.Action) -> Actor:
    """Somebody of team-green, with grants over green-cluster alone."""
    return make_person(username, *(actions or (ACTION.APPROVE,)), owner=register_owner(GREEN))


def consent(actor: Actor, transfer: Transfer, side: str | None = None) -> Transfer:
    return approve_transfer(actor, transfer.public_id, fingerprint=transfer.plan_fingerprint, side=side)


def sides_of(actor: Actor, transfer: Transfer) -> list[str]:
    """The sides for which `actor` is offered to consent, of the transfer as it is stored."""
    actions = allowed_actions(actor, Transfer.objects.get(pk=transfer.pk))
    return [each.side for each in actions if each.action == "approve"]


def audited(transfer: Transfer) -> list[tuple[str, str, str]]:
    rows = AuditEntry.objects.filter(object_type="transfer", object_id=str(transfer.pk)).order_by("sequence")
    return list(rows.values_list("action", "actor_name", "reason")[:4])


def test_two_people_with_grants_over_their_own_owner_alone_move_record_sets_and_bring_them_back() -> None:
    alice = make_blue("alice", ACTION.REQUEST)
    bob, charlie = make_blue("bob"), make_green("charlie")
    with open_world(approval_policy=BOTH) as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        waiting = progress(transfer).summary
        first = consent(bob, transfer)
        half = (first.status, list_missing_sides(first), progress(first).summary)
        run_transfer(transfer.pk)
        sent_early = len(world.change_sets())
        second = consent(charlie, transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert owners(world) == {GREEN: 10}
        undo = undo_reviewed(
            alice,
            transfer.public_id,
            confirmation=preview_undo(alice, transfer.public_id).confirmation_text,
            reason="Back.",
        )
        consent(charlie, undo, "giver")
        consent(bob, undo)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert undo.status == STATUS.VERIFIED, undo.status_reason
        assert world.reference.zone_bytes() == before
    assert "consent of blue-cluster (gives) and of green-cluster (takes). Nothing was sent." in waiting
    assert half[:2] == (STATUS.REQUESTED, ["taker"])
    assert "Waits for the consent of green-cluster (takes)." in half[2]
    assert (sent_early, second.status) == (0, STATUS.APPROVED)
    assert [(each.side, each.by) for each in list_consents(second)] == [
        ("giver", "bob"),
        ("taker", "charlie"),
    ]
    assert audited(transfer)[:3] == [
        ("transfer.requested", "alice", "The shop moves."),
        ("transfer.consented", "bob", "Consented for blue-cluster (gives)."),
        ("transfer.approved", "charlie", "Consented for green-cluster (takes)."),
    ]


def test_a_grant_over_one_side_is_enough_to_request_under_this_policy_alone() -> None:
    cast = (make_blue("alice", ACTION.REQUEST), make_green("gina", ACTION.REQUEST), make_blue("bob"))
    found = {}
    with open_world(approval_policy=BOTH):
        for policy in (BOTH, "other_person"):
            Provider.objects.update(approval_policy=policy)
            found[policy] = [[each.code for each in plan(person, ask()).refusals] for person in cast]

    assert found[BOTH] == [[], [], ["not_allowed"]]
    assert found["other_person"] == [["not_allowed"]] * 3


def test_the_requester_may_consent_for_one_side_and_not_for_the_other() -> None:
    root, charlie = make_actor(make_administrator()), make_green("charlie")
    with open_world(approval_policy=BOTH):
        transfer = request(root, ask())

        first = consent(root, transfer, "giver")
        with pytest.raises(NotAllowed, match=r"You consented for blue-cluster \(gives\) already") as refused:
            consent(root, transfer, "taker")
        second = consent(charlie, transfer)

    assert refused.value.code == "other_person_needed"
    assert (first.status, second.status) == (STATUS.REQUESTED, STATUS.APPROVED)


def _by_token(person: Actor, issuer: Actor | None) -> Actor:
    return replace(
        person, kind="token", name=f"{person.name} (ci)", issuer_id=issuer.user_id if issuer else None
    )


def _list_one_person_twice() -> Iterable[tuple[str, Actor, Actor]]:
    """Each way in which one person could be behind both consents: the first actor consents for the giver."""
    root = make_actor(make_administrator())
    both = make_person("both", ACTION.APPROVE)
    bob, charlie = make_blue("bob"), make_green("charlie")
    yield "an administrator", root, root
    yield "grants over both owners", both, both
    yield "a token that the first one issued", root, _by_token(charlie, root)
    yield "a token that the second one issued", _by_token(bob, root), root
    yield "two tokens of one issuer", _by_token(bob, root), _by_token(charlie, root)
    yield "a token of an unknown issuer", bob, _by_token(charlie, None)


def test_one_person_never_consents_for_both_sides() -> None:
    alice = make_alice()
    cast = list(_list_one_person_twice())
    with open_world(approval_policy=BOTH) as world:
        for how, first, second in cast:
            transfer = request(alice, ask())
            consent(first, transfer, "giver")

            with pytest.raises(NotAllowed) as refused:
                consent(second, transfer, "taker")
            run_transfer(transfer.pk)
            transfer.refresh_from_db()

            assert refused.value.code == "other_person_needed", how
            assert sides_of(second, transfer) == [], how
            assert (transfer.status, transfer.approved_at) == (STATUS.REQUESTED, None), how
            cancel_transfer(alice, transfer.public_id, reason="Next.")
        transfer = request(alice, ask())
        with pytest.raises(NotAllowed, match="not known who is behind"):
            consent(_by_token(make_blue("bob"), None), transfer)
        assert world.change_sets() == []


def test_who_just_set_the_password_of_the_first_account_does_not_consent_for_the_other_side() -> None:
    root = make_administrator()
    alice, bob = make_alice(), make_blue("bob")
    pages = Client()
    pages.force_login(root)
    passphrase = "a-long-enough-passphrase"
    form = {"usable_password": "true", "password1": passphrase, "password2": passphrase}
    pages.post(f"/admin/auth/user/{bob.user_id}/password/", form)
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        consent(bob, transfer)

        with pytest.raises(NotAllowed, match="created the other person's account, or set its password"):
            consent(make_actor(root), transfer)
        AuditEntry.objects.update(at=timezone.now() - timedelta(hours=25))

        assert consent(make_actor(root), transfer).status == STATUS.APPROVED


def test_who_may_consent_for_both_says_for_which_and_others_need_not() -> None:
    alice, bob, root = make_alice(), make_blue("bob"), make_actor(make_administrator())
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        for asked in (None, "neither"):
            with pytest.raises(InvalidRequest) as refused:
                consent(root, transfer, asked)
            assert refused.value.fields == {"side": ["One of giver, taker."]}
        offered = (sides_of(root, transfer), sides_of(bob, transfer), sides_of(alice, transfer))

        assert consent(bob, transfer).consent_side == "giver"
        assert sides_of(root, transfer) == ["taker"]
        assert consent(root, transfer).status == STATUS.APPROVED
    assert offered == (["giver", "taker"], ["giver"], [])


def test_nobody_consents_for_a_side_that_is_not_theirs_or_that_consented_already() -> None:
    alice, bob, dora = make_alice(), make_blue("bob"), make_blue("dora")
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        with pytest.raises(NotAllowed, match=r"bob may not consent for green-cluster \(takes\)\."):
            consent(bob, transfer, "taker")
        with pytest.raises(NotAllowed, match=r"may not consent for blue-cluster \(gives\) or green"):
            consent(alice, transfer)
        consent(bob, transfer)

        with pytest.raises(StateMoved, match=r"bob consented for blue-cluster \(gives\) already") as moved:
            consent(dora, transfer, "giver")
        with pytest.raises(NotAllowed, match=r"dora may not consent for green-cluster \(takes\)\."):
            consent(dora, transfer)
    assert moved.value.now == "Nobody consented for green-cluster (takes) yet."


def test_a_side_is_for_this_policy_alone() -> None:
    alice, carol = make_alice(), make_person("carol", ACTION.APPROVE)
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())
        with pytest.raises(InvalidRequest, match="asks for one approval"):
            consent(carol, transfer, "giver")

        approved = approve(carol, transfer)

    assert (approved.status, list_consents(approved)) == (STATUS.APPROVED, [])


def test_a_consent_is_for_the_plan_that_was_reviewed() -> None:
    alice, bob, charlie = make_alice(), make_blue("bob"), make_green("charlie")
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        for person in (bob, charlie):
            with pytest.raises(StateMoved) as refused:
                approve_transfer(person, transfer.public_id, fingerprint="another")
            assert refused.value.code == "plan_moved"
            consent(person, transfer)


def test_only_one_of_two_consents_for_one_side_wins() -> None:
    alice, people = make_alice(), [make_blue("bob"), make_blue("dora"), make_green("charlie")]
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())

        results = side_by_side([partial(consent, each, transfer) for each in people[:2]])
        transfer.refresh_from_db()
        winner = transfer.consent_by_name
        assert consent(people[2], transfer).status == STATUS.APPROVED

    refused = [each for each in results if not isinstance(each, Transfer)]
    assert len(refused) == 1
    assert isinstance(refused[0], StateMoved | NotAllowed)  # at the write, or at a look a moment later
    assert winner in ("bob", "dora")
    assert [each[0] for each in audited(transfer)].count("transfer.consented") == 1


def test_either_side_rejects_and_either_may_cancel_what_it_could_request() -> None:
    alice = make_blue("alice", ACTION.REQUEST)
    gina, bob, charlie = make_green("gina", ACTION.REQUEST), make_blue("bob"), make_green("charlie")
    mallory = make_actor(make_user("mallory"))
    with open_world(approval_policy=BOTH):
        ended = []
        for act, person in (
            (reject_transfer, bob),
            (reject_transfer, charlie),
            (cancel_transfer, alice),
            (cancel_transfer, gina),
        ):
            transfer = request(alice, ask())
            with pytest.raises(NotAllowed):
                act(mallory, transfer.public_id, reason="No.")
            with pytest.raises(NotAllowed):
                act(bob if act is cancel_transfer else gina, transfer.public_id, reason="No.")
            ended.append(act(person, transfer.public_id, reason="No.").status)

    assert ended == [STATUS.REJECTED, STATUS.REJECTED, STATUS.CANCELLED, STATUS.CANCELLED]


@pytest.mark.parametrize("before", ["none", "other_person"])
def test_a_policy_made_stricter_holds_for_what_waits_and_for_what_was_approved(before: str) -> None:
    alice, carol = make_alice(), make_person("carol", ACTION.APPROVE)
    bob, charlie = make_blue("bob"), make_green("charlie")
    with open_world(approval_policy=before) as world:
        transfer = request(alice, ask())
        if before == "other_person":
            approve(carol, transfer)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.APPROVED
        Provider.objects.update(approval_policy=BOTH)

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting = (transfer.status, transfer.status_reason, len(world.change_sets()))
        consent(charlie, transfer)
        Provider.objects.update(approval_policy=before)  # what was asked for stays
        assert sides_of(carol, transfer) == ["giver"]
        consent(bob, transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
    assert waiting[::2] == (STATUS.REQUESTED, 0)
    assert "nobody consented for blue-cluster (gives) or green-cluster (takes) yet" in waiting[1]


def _break_rules() -> dict[str, Callable[[User], dict[str, object]]]:
    return {
        "no first consent": lambda bob: {
            "consent_side": "",
            "consent_at": None,
            "consent_by": None,
            "consent_by_issuer": None,
        },
        "one person": lambda bob: {"approved_by": bob},
        "one issuer": lambda bob: {"approved_by_issuer": bob},
        "a side without a time": lambda bob: {"consent_at": None},
        "a consent under another policy": lambda bob: {"approval_policy": "other_person"},
    }


def test_the_database_refuses_an_approval_without_two_consents_of_two_people() -> None:
    alice, bob, charlie = make_alice(), make_blue("bob"), make_green("charlie")
    person = User.objects.get(username="bob")
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        consent(bob, transfer)
        consent(charlie, transfer)
        row = Transfer.objects.filter(pk=transfer.pk)
        for build in _break_rules().values():
            with pytest.raises(IntegrityError), transaction.atomic():
                row.update(**build(person))
        whole = find_unapproved_writes()
        # An account that is gone is compared with nobody; who issued its token still is.
        row.update(consent_by=None, approved_by_issuer=person)
        broken = find_unapproved_writes()

    assert whole is None
    assert broken is not None
    assert "without the consents of two people" in str(broken)


def test_record_sets_without_an_owner_need_a_grant_that_is_not_narrowed_to_one() -> None:
    alice, green = make_green("alice", ACTION.REQUEST), make_green("charlie")
    bob, blue = make_person("carol", ACTION.APPROVE), make_blue("bob")
    zone = [*make_zone(BLUE, 3), make_record("new.example.org")]
    with open_world(zone, approval_policy=BOTH) as world:
        transfer = request(alice, ask("adopt", Selection(names=("new.example.org",))))
        with pytest.raises(NotAllowed, match=r"may not consent for record sets without an owner \(gives\)"):
            consent(blue, transfer, "giver")
        consent(bob, transfer, "giver")
        consent(green, transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert world.owner_of("new.example.org") == GREEN


@pytest.mark.parametrize("kind", ["release", "reformat"])
def test_two_people_consent_also_where_nobody_new_gets_anything(kind: str) -> None:
    alice, bob, dora = make_blue("alice", ACTION.REQUEST), make_blue("bob"), make_blue("dora")
    carol = make_person("carol", ACTION.APPROVE)
    zone = [make_record("www.example.org"), make_record("www.example.org", "TXT", (LEGACY,))]
    with open_world(zone, approval_policy=BOTH):
        transfer = request(alice, ask(kind))
        consent(bob, transfer, "giver")
        offered = [sides_of(person, transfer) for person in (bob, dora, carol)]

    # What is released is nobody's: nobody of team-blue takes it for everybody.
    assert offered == [[], [] if kind == "release" else ["taker"], ["taker"]]
