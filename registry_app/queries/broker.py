"""Whether the broker answers, and how much is in its queue."""

import redis
from django.conf import settings

_SECONDS = 1.0
# Celery's own, which has all tasks.
_QUEUE = "celery"


def fetch_queue_length() -> int:
    """How many tasks no worker has taken yet, within a second or so. Raises RedisError."""
    client = redis.Redis.from_url(
        settings.REDIS_URL.replace("redis+socket://", "unix://"),
        socket_timeout=_SECONDS,
        **settings.CACHES["default"]["OPTIONS"],
    )
    with client:
        return int(client.llen(_QUEUE))
