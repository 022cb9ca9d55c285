"""Who acts, and whether two actions were done by different people."""

import json
from collections.abc import Collection
from datetime import timedelta

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import ApiToken, AuditEntry, HandOver, Transfer


def actor_of(request: HttpRequest) -> Actor:
    """The person behind the session or the token, with the limits of the token. Somebody who is not signed
    in, or not active, has no name and no rights."""
    user, token = request.user, getattr(request, "auth", None)
    if not user.is_authenticated or not user.is_active:
        return Actor(kind="user", name="")
    name, request_id = user.get_username(), request_id_of()
    if not isinstance(token, ApiToken):
        return Actor("user", name, user.pk, is_superuser=user.is_superuser, request_id=request_id)
    # Narrowed to an owner that was deleted since, it reaches nothing; without the flag it would reach all.
    owner_ids = frozenset(owner.owner_id for owner in token.owners.all()) if token.is_narrowed else None
    return Actor(
        kind="token",
        name=f"{name} ({token.name})",
        user_id=user.pk,
        issuer_id=token.issued_by_id,
        is_superuser=user.is_superuser,
        scopes=frozenset(token.scopes),
        owner_ids=owner_ids,
        request_id=request_id,
    )


def request_id_of() -> str:
    """The id of the request being answered, as its log lines have it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64]


def note_refusal(code: str) -> None:
    """Have the log say of the request being answered why it was refused: the code that programs see, too."""
    structlog.contextvars.bind_contextvars(error_code=code)


def fetch_person(user_id: int | None, name: str) -> Actor:
    """A user as they are today. Deleted or deactivated since, they have no rights."""
    known = get_user_model().objects.filter(is_active=True)
    user = None if user_id is None else known.filter(pk=user_id).first()
    if user is None:
        return Actor(kind="user", name=name)
    return Actor(kind="user", name=name, user_id=user.pk, is_superuser=bool(user.is_superuser))


def find_same_people(transfer: Transfer | HandOver, actor: Actor) -> str:
    """Why `actor` is not another person than whoever requested it, in one sentence; empty if they are."""
    requesters = people_of(transfer.requested_by_id, transfer.requested_by_issuer_id)
    if not requesters or not actor.people:
        return (
            "This provider requires the approval of another person, and the requester or the approver is "
            "not known."
        )
    if actor.user_id == transfer.requested_by_id:
        return "A transfer cannot be approved by the person who requested it."
    return find_shared_person(requesters, actor, "the request or of the approval")


def find_shared_person(people: frozenset[int], actor: Actor, tokens_of: str) -> str:
    """Why `actor` is not another person than the `people` behind something earlier, in one sentence; empty if
    they are. `tokens_of` says what the tokens in question were used for."""
    if common := people & actor.people:
        return (
            f"{_name(common)} issued the token of {tokens_of} and is also the other person. One person must "
            "not do both."
        )
    if common := (fetch_account_makers(people) & actor.people) | (
        fetch_account_makers(actor.people) & people
    ):
        hours = settings.DNSADMIN_ACCOUNT_SETTLES // timedelta(hours=1)
        return (
            f"{_name(common)} created the other person's account, or set its password, less than "
            f"{hours} hours ago, and could use it."
        )
    return ""


def people_of(user_id: int | None, issuer_id: int | None) -> frozenset[int]:
    """The people behind a stored action. Empty: not known."""
    return frozenset() if user_id is None or issuer_id is None else frozenset({user_id, issuer_id})


def fetch_account_makers(user_ids: Collection[int]) -> frozenset[int]:
    """Who made one of these accounts, or set its password, a short while ago."""
    names = {
        entry.actor_name
        for entry in _fetch_recent_changes(user_ids)
        if entry.action.endswith(".added") or "password" in json.dumps([entry.before, entry.after]).lower()
    }
    makers = get_user_model().objects.filter(username__in=names).exclude(pk__in=user_ids)
    return frozenset(makers.values_list("pk", flat=True))


def is_account_settled(user_id: int) -> bool:
    """Whether nobody else made or changed this account a short while ago."""
    own_name = get_user_model().objects.filter(pk=user_id).values_list("username", flat=True).first()
    by_others = _fetch_recent_changes([user_id]).exclude(actor_name=own_name).exclude(actor_kind="system")
    return not by_others.exists()


def _fetch_recent_changes(user_ids: Collection[int]) -> "QuerySet[AuditEntry]":
    since = fetch_now() - settings.DNSADMIN_ACCOUNT_SETTLES
    accounts = [str(user_id) for user_id in user_ids]
    return AuditEntry.objects.filter(object_type="user", object_id__in=accounts, at__gt=since)


def _name(people: Collection[int]) -> str:
    names = get_user_model().objects.filter(pk__in=people).order_by("username")
    return " and ".join(names.values_list("username", flat=True))
