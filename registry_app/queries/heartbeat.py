"""When a worker and the scheduler last showed that they run: in the cache that all processes share."""

import time

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

HEARTBEAT_ROLES = ("worker", "beat")
LATE_AFTER_SECONDS = 60.0
_KEPT_SECONDS = 7 * 86_400
_LOG = structlog.get_logger(__name__)


def note_heartbeat(role: str) -> None:
    """Say that `role` runs. A worker says so every two seconds, the scheduler with each task it sends."""
    try:
        cache.set(_name_key(role), time.time(), timeout=_KEPT_SECONDS)
    except RedisError as error:
        _LOG.warning("heartbeat.not_stored", role=role, error=type(error).__name__)


def fetch_heartbeat_ages() -> dict[str, float]:
    """How many seconds ago each role last said so; nothing of a role that never did. Raises RedisError."""
    keys = {_name_key(role): role for role in HEARTBEAT_ROLES}
    now = time.time()
    return {keys[key]: max(now - at, 0.0) for key, at in cache.get_many(keys).items()}


def _name_key(role: str) -> str:
    return f"heartbeat:{role}"
