"""Bearer tokens, and how many requests a minute each may send. Every invalid token gets the same response."""

import hmac
from datetime import timedelta
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed
from registry_app.inventory.token import compute_secret_hash, parse_token_text
from registry_app.models import ApiToken
from registry_app.queries.rate import count_request, name_address
from registry_app.queries.token import fetch_token

_SCHEME = "bearer"
# One write a minute is enough to see whether a token is in use, and keeps reads from being writes.
_LAST_USE_EVERY = timedelta(minutes=1)
# What no stored hash equals: comparing with it costs the same as with a real one.
_NO_HASH = "0" * 64


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer dnsa_<public id>_<secret>`; other schemes are not for this class."""

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
    token = fetch_token(public_id)
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
    """Refuse a token outside its networks, so that a stolen one is of no use there."""
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


class RequestThrottle(BaseThrottle):
    """How many requests a minute a token or a person may send; without either, an address."""

    def __init__(self) -> None:
        self._wait: float | None = None

    def allow_request(self, request: Request, view: object) -> bool:
        if request.user.is_authenticated:
            self._wait = count_request(
                "api-requests", _who(request), settings.DNSADMIN_API_REQUESTS_PER_MINUTE
            )
        else:
            self._wait = count_without_token(request)
        return self._wait is None

    def wait(self) -> float | None:
        return self._wait


def count_without_token(request: Request) -> float | None:
    """Count one request from an address without a valid token. Seconds to wait if it is one too many."""
    address = name_address(str(request.META.get("REMOTE_ADDR", "")))
    return count_request("api-nobody", address, settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE)


def _who(request: Request) -> str:
    if isinstance(request.auth, ApiToken):
        return f"token-{request.auth.pk}"
    return f"user-{request.user.pk}"
