"""Who is behind an act, and whether two acts were done by two different people, as far as we can tell.

Behind an act are its user, who issued the token it was done with, and who could sign in as one of them
because they made the account or set its password a short while ago.
"""

import json
from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import AuditEntry, Transfer

_ACCOUNT = "user"


def fetch_person(user_id: int | None, name: str) -> Actor:
    """Whoever asked, as they are today. Deleted or deactivated since, they are nobody and may nothing."""
    known = get_user_model().objects.filter(is_active=True)
    user = None if user_id is None else known.filter(pk=user_id).first()
    if user is None:
        return Actor(kind="user", name=name)
    return Actor(kind="user", name=name, user_id=user.pk, is_superuser=bool(user.is_superuser))


def find_same_people(transfer: Transfer, actor: Actor) -> str:
    """Why `actor` is not another person than whoever requested the transfer, in one sentence; empty if they
    are."""
    requesters = people_of(transfer.requested_by_id, transfer.requested_by_issuer_id)
    if not requesters or not actor.people:
        return (
            "This provider requires the approval of another person, and the requester or the approver is "
            "not known."
        )
    if actor.user_id == transfer.requested_by_id:
        return "A transfer cannot be approved by the person who requested it."
    if common := requesters & actor.people:
        return (
            f"{_name(common)} issued the token of the request or of the approval and is also the "
            "other person. One person must not do both."
        )
    if common := (fetch_account_makers(requesters) & actor.people) | (
        fetch_account_makers(actor.people) & requesters
    ):
        hours = settings.DNSADMIN_ACCOUNT_SETTLES // timedelta(hours=1)
        return (
            f"{_name(common)} created the other person's account, or set its password, less than "
            f"{hours} hours ago, and could use it."
        )
    return ""


def people_of(user_id: int | None, issuer_id: int | None) -> frozenset[int]:
    """Who answers for an act that was stored. Empty: it is not known."""
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
    return AuditEntry.objects.filter(object_type=_ACCOUNT, object_id__in=accounts, at__gt=since)


def _name(people: Collection[int]) -> str:
    names = get_user_model().objects.filter(pk__in=people).order_by("username")
    return " and ".join(names.values_list("username", flat=True))
