"""Each request of the web role, in the log with the id that the audit trail has, and in the metrics."""

import logging
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import LazyObject

from registry_app import metrics

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_BROKEN, _REFUSED = 500, 400
_LOG = structlog.get_logger(__name__)


class RequestLog:
    """Inside of what gives a request its id. The query is left out: it may hold what was searched for."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = self._answer(request)
        seconds = time.monotonic() - began
        area = _find_area(request.path)
        method = request.method if request.method in _METHODS else "other"
        metrics.HTTP_REQUESTS.labels(area, method, str(response.status_code)).inc()
        metrics.HTTP_SECONDS.labels(area).observe(seconds)
        if area != "static":
            _log(request, response.status_code, seconds)
        return response


class OnlyTracebacks(logging.Filter):
    """Of what Django logs about requests, what `RequestLog` cannot know."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info)


def _find_area(path: str) -> str:
    if path.startswith("/api/"):
        return "api"
    if path.startswith("/admin/"):
        return "admin"
    return "static" if path.startswith(f"/{settings.STATIC_URL.lstrip('/')}") else "other"


def _log(request: HttpRequest, status: int, seconds: float) -> None:
    log = _LOG.error if status >= _BROKEN else _LOG.warning if status >= _REFUSED else _LOG.info
    log(
        "request",
        method=request.method,
        path=request.path,
        status=status,
        seconds=round(seconds, 3),
        address=request.META.get("REMOTE_ADDR", ""),
        user=_name_user(request),
    )


def _name_user(request: HttpRequest) -> str:
    """Who it is, where answering needed to know: nothing is read for the log alone."""
    for user in (getattr(request, "_cached_user", None), vars(request).get("user")):
        # By its type: to ask a lazy one for anything else would load it.
        if user is not None and not issubclass(type(user), LazyObject) and user.is_authenticated:
            return str(user.get_username())
    return ""
