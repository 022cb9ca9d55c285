"""How often something happened in this minute, counted in the cache that all processes share.

A count is one short number that is gone two minutes later: addresses that come and go leave nothing behind.
"""

import time
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

import structlog
from django.conf import settings
from redis import ConnectionPool, Redis
from redis.exceptions import RedisError

_WINDOW_SECONDS = 60
_IPV6_PREFIX = 64
_LOG = structlog.get_logger(__name__)


def count_request(kind: str, who: str, limit: int) -> float | None:
    """Count one more. None while it is within `limit`; otherwise the seconds until the next minute begins."""
    now = time.time()
    cache = settings.CACHES["default"]
    key = f"{cache['KEY_PREFIX']}:{kind}:{who}:{int(now // _WINDOW_SECONDS)}"
    try:
        client = _open(cache["LOCATION"], tuple(cache.get("OPTIONS", {}).items()))
        with client.pipeline(transaction=False) as pipeline:
            pipeline.incr(key)
            pipeline.expire(key, 2 * _WINDOW_SECONDS)
            count, _ = pipeline.execute()
    except RedisError as error:
        # Without its cache dnsadmin is degraded, not closed.
        _LOG.warning("rate.not_counted", kind=kind, error=type(error).__name__)
        return None
    return None if count <= limit else _WINDOW_SECONDS - now % _WINDOW_SECONDS


@lru_cache
def _open(location: str, options: tuple[tuple[str, Any], ...]) -> Redis:
    """The client of this process. Django's cache makes one for each of the three operations of a count."""
    return Redis(connection_pool=ConnectionPool.from_url(location, **dict(options)))


def name_address(text: str) -> str:
    """Who is counted together: one IPv4 address, or the IPv6 network that one customer gets."""
    try:
        address = ip_address(text)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(ip_network((address, _IPV6_PREFIX), strict=False).network_address)
    return str(getattr(address, "ipv4_mapped", None) or address)
