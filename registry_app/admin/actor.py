"""Who asks, as the mutations want to know it."""

import structlog
from django.http import HttpRequest

from registry_app.actor import Actor


def actor_of(request: HttpRequest) -> Actor:
    """The person behind a request of the web admin. Somebody who is not signed in is nobody."""
    user = request.user
    if not user.is_authenticated or not user.is_active:
        return Actor(kind="user", name="")
    return Actor(
        kind="user",
        name=user.get_username(),
        user_id=user.pk,
        is_superuser=user.is_superuser,
        request_id=request_id_of(request),
    )


def request_id_of(_request: HttpRequest) -> str:
    """The id under which this request is found in the logs."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
