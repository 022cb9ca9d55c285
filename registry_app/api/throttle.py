"""So many requests a minute for each token or person, and for each address without either."""

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from registry_app.models import ApiToken
from registry_app.queries.rate import count_request, name_address


class RequestThrottle(BaseThrottle):
    """What a token or a person may ask in a minute; who is nobody is counted by address."""

    def __init__(self) -> None:
        self._wait: float | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
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
