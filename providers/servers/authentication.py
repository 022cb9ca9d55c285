"""Who may talk to a server: nobody in particular, or the holder of one credential."""

import base64
import hmac
from typing import Self

from providers.servers.wsgi_application import Request


class RequiredCredential:
    """What every request must carry in `Authorization`. Never shown, neither by repr nor by str."""

    def __init__(self, scheme: str, parameter: str) -> None:
        self._scheme = scheme
        self._parameter = parameter.encode("utf-8")

    @classmethod
    def basic(cls, user: str, secret: str) -> Self:
        """HTTP Basic: what ExternalDNS sends for user-info in its URL."""
        if ":" in user:
            raise ValueError("A user name for HTTP Basic cannot hold a colon.")
        return cls("basic", base64.b64encode(f"{user}:{secret}".encode()).decode("ascii"))

    @classmethod
    def bearer(cls, token: str) -> Self:
        """A bearer token."""
        return cls("bearer", token)

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate`."""
        return f'{self._scheme.capitalize()} realm="dns provider"'

    def is_carried_by(self, request: Request) -> bool:
        """True if the request carries it; takes as long for a near miss as for a far one."""
        scheme, _, parameter = request.headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(parameter.strip().encode("utf-8", "surrogateescape"), self._parameter)
        return is_same and scheme.lower() == self._scheme

    def __repr__(self) -> str:
        return f"RequiredCredential({self._scheme}, hidden)"
