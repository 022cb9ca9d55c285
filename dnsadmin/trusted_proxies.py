"""The client's address behind proxies: `X-Forwarded-For` counts from the proxies of this deployment alone."""

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_MOST_HOPS = 20


class TrustedProxies:
    """Puts the client's address in the place of the proxy's, for everything that asks for it later: the
    networks of a token, the lock-out, the log.

    Without DNSADMIN_TRUSTED_PROXIES, or from anywhere else, the header is not looked at.
    """

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer
        self._networks = [ip_network(text) for text in settings.DNSADMIN_TRUSTED_PROXIES]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer = str(request.META.get("REMOTE_ADDR", ""))
        if self._networks:
            forwarded_for = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
            request.META["REMOTE_ADDR"] = find_client_address(peer, forwarded_for, self._networks)
        return self._answer(request)


def find_client_address(peer: str, forwarded_for: str, trusted: list[IPv4Network | IPv6Network]) -> str:
    """The nearest address that is no trusted proxy, read from the right: what is to the left of it,
    it may have made up. Where all are trusted it is the farthest; an unreadable list does not count."""
    hops = [peer, *reversed([hop.strip() for hop in forwarded_for.split(",") if hop.strip()])]
    client = peer
    for hop in hops[: _MOST_HOPS + 1]:
        try:
            address = ip_address(hop)
        except ValueError:
            return client
        client = hop
        if not any(address in network for network in trusted):
            return client
    return client
