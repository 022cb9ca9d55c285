"""A stricter approval policy holds at once; a looser one waits for a second administrator, or for a day."""

from datetime import timedelta
from itertools import permutations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.audit import verify_audit
from registry_app.errors import NotAllowed, NotFound, RefusedBySafety
from registry_app.inventory.approval_change import (
    apply_due_looser_approvals,
    cancel_looser_approval,
    confirm_looser_approval,
)
from registry_app.inventory.provider import change_provider, delete_provider, register_provider
from registry_app.models import ApprovalChange, AuditEntry, Finding, Provider
from tests.depth import deep_after
from tests.factories import make_administrator, make_provider
from tests.registry_app.admin.world import address, read_text, sign_in
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db
NONE, OTHER, BOTH = "none", "other_person", "both_sides"


def _admin(username: str) -> Actor:
    return make_actor(make_administrator(username))


def _policy() -> str:
    return Provider.objects.get(name="blue-zone").approval_policy


def _has_finding() -> bool:
    return Finding.objects.filter(kind="approval_loosened").exclude(state="resolved").exists()


def _wait(hours: int) -> None:
    ApprovalChange.objects.update(effective_at=timezone.now() - timedelta(seconds=1))
    AuditEntry.objects.update(at=timezone.now() - timedelta(hours=hours))


def test_a_stricter_policy_holds_at_once() -> None:
    provider = make_provider(approval_policy=NONE)

    change_provider(_admin("alice"), provider.pk, {"approval_policy": OTHER})

    assert _policy() == OTHER
    assert not ApprovalChange.objects.exists()


def test_a_looser_one_waits_for_another_administrator_and_no_time_makes_it_hold() -> None:
    provider = make_provider()
    alice, bob = _admin("alice"), _admin("bob")

    change_provider(alice, provider.pk, {"approval_policy": NONE, "description": "ours"})
    apply_due_looser_approvals()
    asked = _policy(), _has_finding(), ApprovalChange.objects.get().effective_at
    with pytest.raises(NotAllowed) as refused:
        confirm_looser_approval(alice, provider.pk)
    confirm_looser_approval(bob, provider.pk)

    assert asked == (OTHER, True, None)
    assert refused.value.code == "other_person_needed"
    assert (_policy(), _has_finding()) == (NONE, False)
    assert Provider.objects.get().description == "ours"
    assert [entry.action for entry in AuditEntry.objects.order_by("sequence")] == [
        "provider.changed",
        "provider.looser_approval_asked",
        "provider.looser_approval_effective",
    ]
    assert verify_audit() is None


def test_where_there_is_one_administrator_it_holds_after_a_day_and_is_a_finding_until_then() -> None:
    provider = make_provider()
    change_provider(_admin("alice"), provider.pk, {"approval_policy": NONE})

    early = apply_due_looser_approvals(), _policy(), _has_finding()
    wait = ApprovalChange.objects.get().effective_at
    _wait(25)
    late = apply_due_looser_approvals(), _policy(), _has_finding()

    assert early == (0, OTHER, True)
    assert wait is not None
    assert timedelta(hours=23) < wait - timezone.now() <= timedelta(hours=24)
    assert late == (1, NONE, False)


def test_an_account_that_was_just_made_or_changed_is_no_second_administrator() -> None:
    provider = make_provider()
    alice, bob = make_administrator("alice"), _admin("bob")
    change_provider(make_actor(alice), provider.pk, {"approval_policy": NONE})
    pages = sign_in(alice)
    passphrase = "a-long-enough-passphrase"
    form = {"usable_password": "true", "password1": passphrase, "password2": passphrase}
    pages.post(f"/admin/auth/user/{bob.user_id}/password/", form)

    with pytest.raises(NotAllowed):
        confirm_looser_approval(bob, provider.pk)
    assert _policy() == OTHER

    AuditEntry.objects.update(at=timezone.now() - timedelta(hours=25))
    confirm_looser_approval(bob, provider.pk)
    assert _policy() == NONE


def test_policies_are_ordered_from_none_to_another_person_to_both_sides() -> None:
    alice, bob = _admin("alice"), _admin("bob")
    for number, (before, after) in enumerate(permutations((NONE, OTHER, BOTH), 2)):
        provider = make_provider(f"zone-{number}", approval_policy=before)

        change_provider(alice, provider.pk, {"approval_policy": after})
        waits = ApprovalChange.objects.filter(provider=provider, status="pending").exists()
        if waits:
            provider.refresh_from_db()
            assert provider.approval_policy == before
            confirm_looser_approval(bob, provider.pk)

        provider.refresh_from_db()
        assert provider.approval_policy == after
        assert waits is ((before, after) in ((OTHER, NONE), (BOTH, NONE), (BOTH, OTHER)))


def test_another_looser_policy_that_is_asked_for_takes_the_place_of_the_first() -> None:
    provider = make_provider(approval_policy=BOTH)
    alice, bob = _admin("alice"), _admin("bob")

    for policy in (OTHER, NONE):
        change_provider(alice, provider.pk, {"approval_policy": policy})
    confirm_looser_approval(bob, provider.pk)

    assert _policy() == NONE
    assert not _has_finding()
    ended = ApprovalChange.objects.order_by("pk").values_list("to_policy", "status")
    assert list(ended) == [(OTHER, "cancelled"), (NONE, "effective")]


@pytest.mark.parametrize("ended", ["cancelled", "asked to stay strict", "asker is no administrator"])
def test_what_was_dropped_never_holds(ended: str) -> None:
    provider = make_provider()
    alice = _admin("alice")
    change_provider(alice, provider.pk, {"approval_policy": NONE})
    if ended == "cancelled":
        cancel_looser_approval(alice, provider.pk)
    elif ended == "asked to stay strict":
        change_provider(alice, provider.pk, {"approval_policy": OTHER})
    else:
        User.objects.filter(username="alice").update(is_superuser=False)
    _wait(25)

    apply_due_looser_approvals()

    assert (_policy(), _has_finding()) == (OTHER, False)
    with pytest.raises(NotFound):
        confirm_looser_approval(_admin("bob"), provider.pk)


@pytest.mark.parametrize(
    ("strict_policy", "policy"), deep_after(2, [(OTHER, NONE), (BOTH, OTHER), (BOTH, NONE)])
)
@pytest.mark.parametrize("way", ["registered", "moved there", "deleted and registered"])
def test_no_second_name_for_an_address_asks_for_less(way: str, strict_policy: str, policy: str) -> None:
    alice = _admin("alice")
    values = {"name": "strict", "url": "http://127.0.0.1:9001", "approval_policy": strict_policy}
    strict = register_provider(alice, values)
    other = make_provider("loose", url="http://127.0.0.1:9002", approval_policy=policy)
    if way == "deleted and registered":
        delete_provider(alice, strict.pk)

    def act() -> None:
        if way == "moved there":
            change_provider(alice, other.pk, {"url": "http://127.0.0.1:9001/"})
        else:
            register_provider(alice, {**values, "name": "second", "approval_policy": policy})

    with pytest.raises(RefusedBySafety) as refused:
        act()

    assert refused.value.code == "looser_than_namesake"
    assert Provider.ApprovalPolicy(strict_policy).label in refused.value.happened


def test_without_a_policy_a_second_name_would_ask_for_another_person_which_may_be_less() -> None:
    alice = _admin("alice")
    values = {"url": "http://127.0.0.1:9001"}
    for number, policy in enumerate((OTHER, BOTH)):
        strict = register_provider(alice, {**values, "name": f"strict-{number}", "approval_policy": policy})

    with pytest.raises(RefusedBySafety) as refused:
        register_provider(alice, {**values, "name": "second"})
    register_provider(alice, {**values, "name": "as strict", "approval_policy": BOTH})

    assert refused.value.code == "looser_than_namesake"
    assert strict.name in refused.value.happened


def test_a_program_sees_what_is_pending_and_confirms_or_cancels_it() -> None:
    provider = make_provider()
    alice, bob = make_client(make_administrator("alice")), make_client(make_administrator("bob"))
    where = f"{API}/providers/{provider.pk}/"
    etag = alice.get(where)["ETag"]

    asked = alice.patch(where, {"approval_policy": NONE}, headers={"If-Match": etag})
    refused = alice.post(f"{where}approval-change/confirm/", {})
    confirmed = bob.post(f"{where}approval-change/confirm/", {})
    nothing = bob.post(f"{where}approval-change/cancel/", {})

    pending = read(asked)["pending_approval_change"]
    assert (asked.status_code, read(asked)["approval_policy"]) == (200, OTHER)
    assert (pending["to_policy"], pending["effective_at"]) == (NONE, None)
    assert (refused.status_code, read(refused)["code"]) == (403, "other_person_needed")
    assert (confirmed.status_code, read(confirmed)["approval_policy"]) == (200, NONE)
    assert read(confirmed)["pending_approval_change"] is None
    assert nothing.status_code == 404


def test_the_page_says_what_is_pending_and_offers_to_confirm_it_to_another() -> None:
    provider = make_provider()
    alice, bob = make_administrator("alice"), make_administrator("bob")
    change_provider(make_actor(alice), provider.pk, {"approval_policy": NONE})
    page = address("provider_change", provider.pk)

    asker, other = (read_text(sign_in(user).get(page)) for user in (alice, bob))
    sign_in(bob).post(address("provider_approval_confirm", provider.pk))

    assert "alice asked" in asker
    assert "approval/confirm/" not in asker
    assert "approval/confirm/" in other
    assert "approval/cancel/" in asker
    assert _policy() == NONE
