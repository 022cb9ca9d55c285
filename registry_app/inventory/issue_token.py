"""Issue an API token."""

import ipaddress
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed
from registry_app.inventory.token_secret import build_random_parts, build_token_text, compute_secret_hash
from registry_app.models import ApiToken, Owner
from registry_app.queries.access import may_administer


def issue_token(
    actor: Actor,
    *,
    user_id: int,
    name: str,
    scopes: Sequence[str],
    owner_ids: Sequence[str] = (),
    networks: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Store a token for a user and give its text, which is never shown again.

    People issue tokens for themselves; administrators for anybody, but for the scope `approve`: whoever
    could approve in another's name would approve what they requested. A token never issues a token: the
    new one would not end with it. Raises NotAllowed, or InvalidRequest with the fields.
    """
    _raise_if_not_allowed(actor, user_id, scopes)
    owners = list(Owner.objects.filter(owner_id__in=owner_ids))
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    fields = _find_problems(name, scopes, set(owner_ids) - {owner.owner_id for owner in owners}, networks)
    if user is None:
        fields["user"] = ["There is no such active user."]
    if expires_at is not None and expires_at <= fetch_now():
        fields["expires_at"] = ["Choose a time in the future."]
    if fields or user is None:
        raise InvalidRequest("The token cannot be issued like this.", fields=fields)
    public_id, secret = build_random_parts()
    with transaction.atomic():
        token = ApiToken.objects.create(
            public_id=public_id,
            secret_hash=compute_secret_hash(secret),
            name=name,
            user=user,
            issued_by_id=actor.user_id,
            is_narrowed=bool(owners),
            scopes=sorted(set(scopes)),
            networks=list(networks),
            expires_at=expires_at,
        )
        token.owners.set(owners)
        after = {
            "user": user.get_username(),
            "scopes": token.scopes,
            "owners": sorted(owner_ids),
            "networks": token.networks,
            "expires_at": None if expires_at is None else expires_at.isoformat(),
        }
        record_audit(actor, "token.issued", token, after=after)
    return token, build_token_text(public_id, secret)


def _raise_if_not_allowed(actor: Actor, user_id: int, scopes: Sequence[str]) -> None:
    if actor.kind == "token":
        raise NotAllowed("A token cannot issue a token.", todo="Log in, and issue it there.")
    if actor.user_id is not None and actor.user_id == user_id:
        return
    if not may_administer(actor):
        raise NotAllowed("Tokens are issued by their own user.", todo="Ask an administrator.")
    if "approve" in scopes:
        raise NotAllowed(
            "A token that approves is issued by its own user alone.",
            todo="Leave the scope approve out, or let that user issue it.",
        )


def _find_problems(
    name: str, scopes: Sequence[str], unknown_owners: set[str], networks: Sequence[str]
) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    if not name.strip() or len(name) > 100:
        fields["name"] = ["Give it a name of 1 to 100 characters, so that you recognise it later."]
    if not scopes or (unknown := set(scopes) - set(ApiToken.SCOPES)):
        known = ", ".join(ApiToken.SCOPES)
        fields["scopes"] = [
            f"Choose among {known}." if not scopes else f"Unknown: {', '.join(sorted(unknown))}."
        ]
    if unknown_owners:
        fields["owners"] = [f"Unknown owner ids: {', '.join(sorted(unknown_owners))}."]
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            fields.setdefault("networks", []).append(f"{network!r} is not a network such as 192.0.2.0/24.")
    return fields
