"""Networks that people enter: those of API tokens and of guard endpoints."""

import ipaddress
from collections.abc import Iterable


def find_network_problems(networks: Iterable[object]) -> list[str]:
    """One sentence for each entry that is not a CIDR network."""
    return [
        f"{network!r} is not a network such as 192.0.2.0/24."
        for network in networks
        if not isinstance(network, str) or not _is_network(network)
    ]


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True
