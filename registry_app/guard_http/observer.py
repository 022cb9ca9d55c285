"""Counts the requests of instances, and logs those that were not refused: the server logs these itself."""

import structlog

from providers.servers.wsgi_application import Request
from registry_app import metrics

_CALLS = {
    ("GET", ""): "negotiate",
    ("GET", "records"): "records",
    ("POST", "records"): "changes",
    ("POST", "adjustendpoints"): "adjustendpoints",
}
_REFUSED = 400
_LOG = structlog.get_logger(__name__)


class GuardObserver:
    """Looks on at every request of a guard."""

    def answered(self, request: Request, status: int, seconds: float) -> None:
        slug, _, rest = request.path.strip("/").partition("/")
        call = _CALLS.get((request.method, rest), "other")
        metrics.GUARD_REQUESTS.labels(call, str(status)).inc()
        metrics.GUARD_SECONDS.labels(call).observe(seconds)
        if status < _REFUSED:
            _LOG.info(
                "guard.request", guard_endpoint=slug, call=call, status=status, seconds=round(seconds, 3)
            )
