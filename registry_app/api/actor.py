"""Who asks, as the mutations want to know it."""

import structlog
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from registry_app.actor import Actor
from registry_app.models import ApiToken


def request_id_of() -> str:
    """The id of the request being answered, as its log lines have it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64]


def user_pk_of(request: Request) -> int:
    """The person behind the request. Raises NotAuthenticated where there is none."""
    if request.user.pk is None:
        raise NotAuthenticated
    return int(request.user.pk)


def actor_of(request: Request) -> Actor:
    """The person behind the session or the token; a token's bounds come along."""
    user, token = request.user, request.auth
    if not isinstance(token, ApiToken):
        return Actor(
            kind="user",
            name=user.get_username(),
            user_id=user.pk,
            is_superuser=bool(user.is_superuser),
            request_id=request_id_of(),
        )
    # Narrowed to an owner that was deleted since, it reaches nothing; without the flag it would reach all.
    owner_ids = frozenset(owner.owner_id for owner in token.owners.all()) if token.is_narrowed else None
    return Actor(
        kind="token",
        name=f"{user.get_username()} ({token.name})",
        user_id=user.pk,
        issuer_id=token.issued_by_id,
        is_superuser=bool(user.is_superuser),
        scopes=frozenset(token.scopes),
        owner_ids=owner_ids,
        request_id=request_id_of(),
    )
