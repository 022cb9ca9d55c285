"""Who asks, in a browser or with a token, as the use cases want to know it."""

import structlog
from django.http import HttpRequest

from registry_app.actor import Actor
from registry_app.models import ApiToken


def actor_of(request: HttpRequest) -> Actor:
    """The person behind the session or the token; a token's bounds come along. Somebody who is not signed in,
    or not active, is nobody."""
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
