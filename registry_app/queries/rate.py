"""How often something happened in this minute, counted in the cache that all processes share.

A count is one short number that is gone two minutes later: addresses that come and go leave nothing behind.
"""

import time
from ipaddress import IPv6Address, ip_address, ip_network

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

_WINDOW_SECONDS = 60
_IPV6_PREFIX = 64
_LOG = structlog.get_logger(__name__)


def count_request(kind: str, who: str, limit: int) -> float | None:
    """Count one more. None while it is within `limit`; otherwise the seconds until the next minute begins."""
    now = time.time()
    key = f"{kind}:{who}:{int(now // _WINDOW_SECONDS)}"
    try:
        cache.add(key, 0, timeout=2 * _WINDOW_SECONDS)
        is_within = cache.incr(key) <= limit
    except (RedisError, ValueError) as error:
        # Without its cache dnsadmin is degraded, not closed. ValueError: the key expired in between.
        _LOG.warning("rate.not_counted", kind=kind, error=type(error).__name__)
        return None
    return None if is_within else _WINDOW_SECONDS - now % _WINDOW_SECONDS


def name_address(text: str) -> str:
    """Who is counted together: one IPv4 address, or the IPv6 network that one customer gets."""
    try:
        address = ip_address(text)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(ip_network((address, _IPV6_PREFIX), strict=False).network_address)
    return str(getattr(address, "ipv4_mapped", None) or address)
