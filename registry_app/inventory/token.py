"""Issue and revoke an API token; its secret is kept only as a keyed hash."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.inventory.network import find_network_problems
from registry_app.inventory.rows import fetch_row
from registry_app.models import ApiToken, Owner
from registry_app.queries.access import may_administer
from registry_app.queries.keyed_hash import compute_keyed_hash

_PREFIX = "dnsa"
_LABEL = b"dnsadmin api token"


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
    unknown = set(owner_ids) - {owner.owner_id for owner in owners}
    fields = _find_problems(name, scopes, unknown, networks, expires_at)
    fields |= {} if user is not None else {"user": ["There is no such active user."]}
    if fields or user is None:
        raise InvalidRequest("The token cannot be issued with these values.", fields=fields)
    public_id, secret = secrets.token_hex(8), secrets.token_hex(32)
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
        record_audit(actor, "token.issued", token, after=_audit_values(token, owner_ids))
    return token, f"{_PREFIX}_{public_id}_{secret}"


def revoke_token(actor: Actor, token_id: int, *, reason: str = "") -> ApiToken:
    """End a token at once. Its own user or an administrator may; to others it does not exist."""
    token = fetch_row(ApiToken, token_id)
    if token.user_id != actor.user_id and not may_administer(actor):
        raise NotFound(f"There is no token {token_id}.", todo="See the list of your tokens.")
    with transaction.atomic():
        now = fetch_now()
        if not ApiToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=now):
            raise StateMoved("This token is already revoked.", todo="There is nothing to do.")
        record_audit(actor, "token.revoked", token, reason=reason, after={"revoked_at": now.isoformat()})
    token.refresh_from_db()
    return token


def parse_token_text(text: str) -> tuple[str, str] | None:
    """Public id and secret; None for anything that is not one of our tokens."""
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != _PREFIX or not parts[1].isalnum() or not parts[2].isalnum():
        return None
    return parts[1], parts[2]


def compute_secret_hash(secret: str) -> str:
    """The keyed hash of the secret part of a token's text."""
    return compute_keyed_hash(secret, _LABEL)


def _raise_if_not_allowed(actor: Actor, user_id: int, scopes: Sequence[str]) -> None:
    if actor.kind == "token":
        raise NotAllowed("A token cannot issue a token.", todo="Log in, and issue it there.")
    if actor.user_id is not None and actor.user_id == user_id:
        return
    if not may_administer(actor):
        raise NotAllowed("A user issues their own tokens.", todo="Ask an administrator.")
    if "approve" in scopes:
        raise NotAllowed(
            "Only its user can issue a token with the scope approve.",
            todo="Leave out the scope approve, or let that user issue the token.",
        )


def _find_problems(
    name: str,
    scopes: Sequence[str],
    unknown_owners: set[str],
    networks: Sequence[str],
    expires_at: datetime | None,
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
    if problems := find_network_problems(networks):
        fields["networks"] = problems
    if expires_at is not None and expires_at <= fetch_now():
        fields["expires_at"] = ["Choose a time in the future."]
    return fields


def _audit_values(token: ApiToken, owner_ids: Sequence[str]) -> dict[str, Any]:
    return {
        "user": token.user.get_username(),
        "scopes": token.scopes,
        "owners": sorted(owner_ids),
        "networks": token.networks,
        "expires_at": None if token.expires_at is None else token.expires_at.isoformat(),
    }
