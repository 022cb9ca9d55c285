"""Revoke an API token."""

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotFound, StateMoved
from registry_app.inventory.rows import fetch_row
from registry_app.models import ApiToken
from registry_app.queries.access import may_administer


def revoke_token(actor: Actor, token_id: int, *, reason: str = "") -> ApiToken:
    """End a token at once. Its own user or an administrator may; to others it does not exist."""
    token = fetch_row(ApiToken, token_id)
    if token.user_id != actor.user_id and not may_administer(actor):
        raise NotFound(f"There is no token {token_id}.", todo="Look it up in the list of your tokens.")
    with transaction.atomic():
        now = fetch_now()
        if not ApiToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=now):
            raise StateMoved("This token was revoked already.", todo="Nothing is left to do.")
        record_audit(actor, "token.revoked", token, reason=reason, after={"revoked_at": now.isoformat()})
    token.refresh_from_db()
    return token
