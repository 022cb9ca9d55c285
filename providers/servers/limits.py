"""How much of everything a server takes."""

import msgspec


class ServerLimits(msgspec.Struct, frozen=True):
    """Bounds of one server. The defaults fit ExternalDNS, whose own bodies end at 32 MiB."""

    body_bytes: int = 32 * 2**20  # above it: 413
    head_bytes: int = 64 * 2**10  # request line and headers together; above it: 431
    items: int = 200_000  # endpoints in one body; above it: 413
    connections: int = 256  # further ones wait a second for a free place and are closed
    idle_seconds: float = 75.0  # how long a kept connection may be silent between requests
    request_seconds: float = 30.0  # from the first byte of a request to its last
    answer_seconds: float = 60.0  # from the first byte of an answer to its last
    stop_seconds: float = 5.0  # how long a stopping server waits for requests that are under way
