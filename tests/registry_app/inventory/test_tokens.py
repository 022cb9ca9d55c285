"""A token is shown once, stored as a hash, and never stronger than the one who issues it."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.inventory.token import compute_secret_hash, issue_token, parse_token_text, revoke_token
from registry_app.models import ApiToken, AuditEntry, Owner


def _alice() -> User:
    return User.objects.create(username="alice")


@pytest.mark.django_db
def test_the_text_leads_to_the_row_and_the_secret_is_nowhere_in_it() -> None:
    alice = _alice()

    token, text = issue_token(SYSTEM, user_id=alice.pk, name="ci", scopes=["read"])

    parsed = parse_token_text(text)
    assert parsed is not None
    public_id, secret = parsed
    assert token.public_id == public_id
    assert token.secret_hash == compute_secret_hash(secret)
    assert secret not in str(ApiToken.objects.values().get())
    assert secret not in str(AuditEntry.objects.values().get())


def test_the_stored_hash_tells_nothing_to_who_has_not_the_key(settings: Settings) -> None:
    secret = "0" * 64
    stored = compute_secret_hash(secret)

    settings.DNSADMIN_ENCRYPTION_KEYS = (b"another key of thirty-two bytes!",)

    assert stored != compute_secret_hash(secret)
    assert stored != hashlib.sha256(secret.encode()).hexdigest()


def test_a_newer_key_leaves_tokens_valid(settings: Settings) -> None:
    stored = compute_secret_hash("0" * 64)

    settings.DNSADMIN_ENCRYPTION_KEYS = (
        b"another key of thirty-two bytes!",
        *settings.DNSADMIN_ENCRYPTION_KEYS,
    )

    assert stored == compute_secret_hash("0" * 64)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 101}),
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": ["read", "everything"]}),
        ("owners", {"owner_ids": ["nobody"]}),
        ("networks", {"networks": ["192.0.2.0/99"]}),
        ("expires_at", {"expires_at": timezone.now() - timedelta(days=1)}),
        ("user", {"user_id": 4711}),
    ],
)
def test_it_refuses_what_makes_no_sense_by_field(field: str, values: dict[str, object]) -> None:
    arguments: dict[str, object] = {"user_id": _alice().pk, "name": "ci", "scopes": ["read"], **values}

    with pytest.raises(InvalidRequest) as caught:
        issue_token(SYSTEM, **arguments)  # type: ignore[arg-type]  # a table of keyword arguments

    assert field in caught.value.fields
    assert not ApiToken.objects.exists()


@pytest.mark.django_db
def test_people_issue_tokens_for_themselves_only() -> None:
    alice, bob = _alice(), User.objects.create(username="bob")
    actor = Actor(kind="user", name="alice", user_id=alice.pk)

    token, _ = issue_token(actor, user_id=alice.pk, name="mine", scopes=["read"])

    assert token.user == alice
    with pytest.raises(NotAllowed):
        issue_token(actor, user_id=bob.pk, name="his", scopes=["read"])


@pytest.mark.django_db
def test_a_token_never_issues_a_token() -> None:
    alice = _alice()
    actor = Actor(kind="token", name="ci", user_id=alice.pk, is_superuser=True)

    with pytest.raises(NotAllowed):
        issue_token(actor, user_id=alice.pk, name="more", scopes=["read"])

    assert not ApiToken.objects.exists()


@pytest.mark.django_db
def test_an_administrator_cannot_issue_a_token_that_approves_in_another_name() -> None:
    alice = _alice()

    with pytest.raises(NotAllowed):
        issue_token(SYSTEM, user_id=alice.pk, name="ci", scopes=["read", "approve"])
    token, _ = issue_token(SYSTEM, user_id=alice.pk, name="ci", scopes=["read", "plan"])

    assert token.user == alice


@pytest.mark.django_db
def test_it_can_be_bound_to_owners() -> None:
    Owner.objects.create(owner_id="blue-cluster")

    token, _ = issue_token(
        SYSTEM, user_id=_alice().pk, name="ci", scopes=["plan"], owner_ids=["blue-cluster"]
    )

    assert [owner.owner_id for owner in token.owners.all()] == ["blue-cluster"]


@pytest.mark.django_db
def test_revoking_works_once_and_for_others_the_token_does_not_exist() -> None:
    alice, bob = _alice(), User.objects.create(username="bob")
    token, _ = issue_token(SYSTEM, user_id=alice.pk, name="ci", scopes=["read"])

    with pytest.raises(NotFound):
        revoke_token(Actor(kind="user", name="bob", user_id=bob.pk), token.pk)
    revoked = revoke_token(Actor(kind="user", name="alice", user_id=alice.pk), token.pk)

    assert revoked.revoked_at is not None
    with pytest.raises(StateMoved):
        revoke_token(SYSTEM, token.pk)


@pytest.mark.parametrize(
    "text", ["", "dnsa", "dnsa_a", "dnsa_a_b_c", "dnsb_a_b", "dnsa__b", "dnsa_a_", "Bearer x", "dnsa_ä b_c"]
)
def test_a_text_that_is_no_token_is_told_apart(text: str) -> None:
    assert parse_token_text(text) is None
