"""Bearer tokens. Every way a token can be wrong gets the same answer."""

import hmac
from datetime import timedelta
from ipaddress import ip_address, ip_network

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed
from registry_app.inventory.token import compute_secret_hash, parse_token_text
from registry_app.models import ApiToken

_SCHEME = "bearer"
# One write a minute is enough to see whether a token is in use, and keeps reads from being writes.
_LAST_USE_EVERY = timedelta(minutes=1)
# What no stored hash equals: comparing with it costs the same as with a real one.
_NO_HASH = "0" * 64


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer dnsa_<public id>_<secret>`; other schemes are left to others."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != _SCHEME:
            return None
        token = _find_token(text.strip())
        _raise_if_elsewhere(token, str(request.META.get("REMOTE_ADDR", "")))
        _store_last_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="dnsadmin"'


def user_pk_of(request: Request) -> int:
    """The person behind the request. Raises NotAuthenticated where there is none."""
    if request.user.pk is None:
        raise NotAuthenticated
    return int(request.user.pk)


def _find_token(text: str) -> ApiToken:
    parts = parse_token_text(text)
    if parts is None:
        raise _unknown_token()
    public_id, secret = parts
    tokens = ApiToken.objects.select_related("user").prefetch_related("owners")
    token = tokens.filter(public_id=public_id).first()
    stored = _NO_HASH if token is None else token.secret_hash
    is_right = hmac.compare_digest(stored, compute_secret_hash(secret))
    if token is None or not is_right or not _is_alive(token):
        raise _unknown_token()
    return token


def _is_alive(token: ApiToken) -> bool:
    if token.revoked_at is not None or not token.user.is_active:
        return False
    return token.expires_at is None or token.expires_at > fetch_now()


def _unknown_token() -> AuthenticationFailed:
    return AuthenticationFailed("The token is unknown, expired or revoked, or its user is not active.")


def _raise_if_elsewhere(token: ApiToken, address: str) -> None:
    """A stolen token is of no use from another network."""
    if not token.networks:
        return
    try:
        client = ip_address(address)
        is_inside = any(client in ip_network(network) for network in token.networks)
    except ValueError:
        is_inside = False
    if not is_inside:
        raise NotAllowed(
            "This token may not be used from this address.",
            todo="Use it from one of its networks, or issue another token.",
            code="network_not_allowed",
        )


def _store_last_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is not None and token.last_used_at > now - _LAST_USE_EVERY:
        return
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - _LAST_USE_EVERY)
    ApiToken.objects.filter(due, pk=token.pk).update(last_used_at=now)


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # untyped there
    """How the schema names it."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": _SCHEME,
            "bearerFormat": "dnsa_<public id>_<secret>",
            "description": "An API token, issued under /api/v1/tokens/ or in the web admin.",
        }
