"""So many requests a minute for each token or person."""

import time

import structlog
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from registry_app.models import ApiToken

_WINDOW_SECONDS = 60
_LOG = structlog.get_logger(__name__)


class RequestThrottle(BaseThrottle):
    """Counts in windows of a minute: one number a window, where a list of times would grow with the rate."""

    def __init__(self) -> None:
        self._seconds_left = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit: int = settings.DNSADMIN_API_REQUESTS_PER_MINUTE
        now = time.time()
        self._seconds_left = _WINDOW_SECONDS - now % _WINDOW_SECONDS
        key = f"api-requests:{_who(request)}:{int(now // _WINDOW_SECONDS)}"
        try:
            cache.add(key, 0, timeout=2 * _WINDOW_SECONDS)
            return cache.incr(key) <= limit
        except (RedisError, ValueError) as error:
            # Without its cache dnsadmin is degraded, not closed. ValueError: the key expired in between.
            _LOG.warning("api.throttle_unavailable", error=type(error).__name__)
            return True

    def wait(self) -> float:
        return self._seconds_left


def _who(request: Request) -> str:
    if isinstance(request.auth, ApiToken):
        return f"token-{request.auth.pk}"
    return f"user-{request.user.pk}"
