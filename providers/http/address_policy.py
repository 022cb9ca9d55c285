"""Which addresses this deployment lets us connect to, and the one look-up that decides it.

A name is resolved once per connection, every address it has is checked, and the connection is made to a
checked address: whoever controls a name cannot show us one address and have us dial another.
"""

import ipaddress
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from providers.http.address import ProviderAddress
from providers.http.errors import AddressForbidden, NameUnresolved

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]

MAX_ADDRESSES = 16

# Spelled out, because the standard library's is_global and is_private call NAT64 and multicast global.
ALWAYS_REFUSED: Final[tuple[IPNetwork, ...]] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "100.100.100.200/32",  # metadata, Alibaba
        "168.63.129.16/32",  # metadata, Azure
        "192.0.0.0/24",  # protocol assignments; metadata of Oracle's first cloud
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "::/128",  # unspecified
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, withdrawn
        "ff00::/8",  # multicast
        "fd00:ec2::/32",  # metadata, and credentials of pods, AWS
        "fd20:ce::254/128",  # metadata, Google
        "fd00:42::42/128",  # metadata, Scaleway
        # Forms that carry an IPv4 address inside, and would walk it past a check of IPv4 networks.
        "::ffff:0:0/96",  # mapped
        "::ffff:0:0:0/96",  # translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local use
        "2002::/16",  # 6to4
        "2001::/32",  # Teredo
    )
)
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")  # ::a.b.c.d; the loopback ::1 lies in it too


def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Return the addresses the operating system knows for a name, /etc/hosts included."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class PolicySettings:
    """How this deployment calls what an AddressPolicy holds."""

    schemes: str = "the allowed schemes"
    hosts: str = "the allowed hosts"
    networks: str = "the allowed networks"
    loopback: str = "the setting that allows loopback"


@dataclass(frozen=True)
class AddressPolicy:
    """What this deployment allows. `None` for hosts or networks means any but the always refused.

    A host is a name (`dns.example.org`) or a suffix (`.example.org`). Loopback needs its flag or a
    network that names it. `resolve` turns a name into addresses and raises OSError if it has none.
    `settings` names what allows more, for the refusal.
    """

    schemes: frozenset[str] = frozenset({"http", "https"})
    hosts: frozenset[str] | None = None
    networks: tuple[IPNetwork, ...] | None = None
    allow_loopback: bool = False
    resolve: Resolver = resolve_by_system
    settings: PolicySettings = PolicySettings()

    def may_connect_to_host(self, host: str) -> bool:
        """Tell whether the host, as written in the URL, is allowed."""
        if self.hosts is None:
            return True
        name = host.lower().removesuffix(".")
        return any(name == h or (h.startswith(".") and name.endswith(h)) for h in self.hosts)

    def may_connect_to(self, address: IPAddress) -> bool:
        """Tell whether an address is allowed."""
        if _is_always_refused(address):
            return False
        if self.networks is not None and any(address in network for network in self.networks):
            return True
        if address.is_loopback:
            return self.allow_loopback
        return self.networks is None


def _is_always_refused(address: IPAddress) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return True
        if address in _COMPATIBLE and not address.is_loopback:
            return True
    return any(address in network for network in ALWAYS_REFUSED)


def fetch_checked_addresses(
    address: ProviderAddress, policy: AddressPolicy, *, seconds: float
) -> tuple[IPAddress, ...]:
    """Resolve the host once, within `seconds`, and return its addresses, all of them allowed.

    One forbidden address refuses them all: which of them is dialed must not be up to luck.
    """
    settings = policy.settings
    if address.scheme not in policy.schemes:
        raise _forbidden(address, f"Add {address.scheme} to {settings.schemes}.")
    if not policy.may_connect_to_host(address.host):
        raise _forbidden(address, f"Add {address.host} to {settings.hosts}.")
    found = _fetch_addresses(address, policy.resolve, seconds)
    if not all(policy.may_connect_to(each) for each in found):
        raise _forbidden(address, _explain_network(address, found, settings))
    return found


def _explain_network(address: ProviderAddress, found: Sequence[IPAddress], settings: PolicySettings) -> str:
    # The text does not give away what a name resolved to, nor whether anything listens there.
    if address.host != str(found[0]):
        return (
            f"Add the network it is in to {settings.networks}, or set {settings.loopback} if it is this "
            "machine. Link-local, metadata and multicast addresses are always refused."
        )
    if _is_always_refused(found[0]):
        return "Link-local, metadata and multicast addresses are always refused: choose another address."
    if found[0].is_loopback:
        return f"Set {settings.loopback}, or add its network to {settings.networks}."
    return f"Add its network to {settings.networks}."


def _forbidden(address: ProviderAddress, todo: str) -> AddressForbidden:
    return AddressForbidden(
        f"This deployment does not allow connections to {address.origin}; nothing was sent.",
        hint=f"{todo} The operator of dnsadmin sets this in its environment.",
    )


def _fetch_addresses(address: ProviderAddress, resolve: Resolver, seconds: float) -> tuple[IPAddress, ...]:
    try:
        return (ipaddress.ip_address(address.host),)
    except ValueError:
        texts = _resolve_within(address, resolve, seconds)
    try:
        found = tuple(ipaddress.ip_address(text) for text in texts)
    except ValueError as exc:
        raise _unresolved(address) from exc
    if not 0 < len(found) <= MAX_ADDRESSES:
        raise _unresolved(address)
    return found


def _resolve_within(address: ProviderAddress, resolve: Resolver, seconds: float) -> Sequence[str]:
    """Ask in a thread of its own: the system's resolver takes no deadline.

    A thread left behind ends by itself when the system gives up, and there is at most one per connection.
    """
    outcome: queue.SimpleQueue[Sequence[str] | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            outcome.put(resolve(address.host, address.port))
        except (OSError, UnicodeError):
            outcome.put(None)

    threading.Thread(target=ask, name="resolve-provider", daemon=True).start()
    try:
        found = outcome.get(timeout=max(seconds, 0.0))
    except queue.Empty:
        raise NameUnresolved(
            f"The name {address.host} was not resolved within {seconds:.2g} s; nothing was sent.",
            hint="Check that the name server of this machine can be reached and responds.",
        ) from None
    if found is None:
        raise _unresolved(address)
    return found


def _unresolved(address: ProviderAddress) -> NameUnresolved:
    return NameUnresolved(
        f"The name {address.host} could not be resolved to a usable address; nothing was sent.",
        hint="Check the spelling of the host, and that the name server of this machine knows it.",
    )
