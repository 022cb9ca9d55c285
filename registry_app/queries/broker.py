"""Whether the broker answers, and how much is in its queue."""

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

_SECONDS = 1.0
# Celery's own, which has all tasks.
_QUEUE = "celery"


def fetch_queue_length() -> int:
    """How many tasks no worker has taken yet, within a second or so. Raises RedisError."""
    client = redis.Redis.from_url(
        settings.REDIS_URL.replace("redis+socket://", "unix://"),
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=Retry(NoBackoff(), 0),
        **settings.CACHES["default"]["OPTIONS"],
    )
    with client:
        return int(client.llen(_QUEUE))
