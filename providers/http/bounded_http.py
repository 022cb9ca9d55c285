"""One HTTP request to a provider: address checked, time and size bounded, nothing followed or retried."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import requests

from providers.http.address import parse_provider_url
from providers.http.address_policy import AddressPolicy, fetch_checked_addresses
from providers.http.answer import Answer, in_our_words
from providers.http.credentials import Credentials
from providers.http.errors import InvalidCredentials
from providers.http.exchange import Exchange
from providers.http.pinned_adapter import PinnedAdapter, Route
from providers.http.tls import build_tls_context


@dataclass(frozen=True)
class Limits:
    """How long and how large an answer may be. `seconds` covers all of it, name look-up to last byte."""

    seconds: float = 30.0
    max_body_bytes: int = 32 * 1024 * 1024
    max_head_bytes: int = 64 * 1024
    max_items: int = 200_000


DEFAULT_LIMITS = Limits()


class BoundedHttp:
    """Requests to one provider. Holds settings and no connection, so threads may share it.

    `peer` is what should listen there, in the words of an error.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        policy: AddressPolicy,
        limits: Limits,
        *,
        peer: str = "webhook provider",
    ) -> None:
        self.address = parse_provider_url(url)
        if self.address.login and credentials.login:
            raise InvalidCredentials(
                f"Two logins are given for {self.address.origin}: one in its URL and one in the credentials.",
                hint="Remove the user name and password from the URL.",
            )
        login = self.address.login or credentials.login
        self.limits = limits
        self._peer = peer
        self._login_headers = {"Authorization": login.header_value()} if login else {}
        self._secrets = (*(login.secrets() if login else ()), *self.address.secrets())
        self._policy = policy
        self._tls: ssl.SSLContext | None = None
        if self.address.scheme == "https":
            self._tls = build_tls_context(credentials)

    def begin(self) -> Exchange:
        """Start the clock of one request."""
        return Exchange(
            self.address.origin,
            seconds=self.limits.seconds,
            max_head_bytes=self.limits.max_head_bytes,
            peer=self._peer,
        )

    @contextmanager
    def send(
        self,
        exchange: Exchange,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Iterator[Answer]:
        """Send one request, once, and yield the answer, its head read; the connection ends with the block.

        Raises a ProviderError. `exchange.began_sending` then tells whether anything left.
        """
        addresses = fetch_checked_addresses(self.address, self._policy, seconds=exchange.remaining())
        adapter = PinnedAdapter(self.address.host, Route(addresses, self.address.port, exchange), self._tls)
        try:
            with in_our_words(exchange):
                # The adapter is driven without a Session: a Session reads netrc and proxies from the
                # environment, keeps cookies, and reads a redirect's body without bounds.
                response = adapter.send(
                    self._prepare(method, url, headers, body), stream=True, timeout=exchange.remaining()
                )
            with response:
                # A complete head ends in an empty line, before anyone reads the end of the connection.
                if exchange.peer_closed:
                    raise exchange.broken(cut=True)
                yield Answer(
                    response, exchange, max_body_bytes=self.limits.max_body_bytes, secrets=self._secrets
                )
        finally:
            adapter.close()

    def _prepare(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> requests.PreparedRequest:
        own = {
            "User-Agent": "dnsadmin",
            "Accept-Encoding": "identity",
            # A connection kept from before may be dead, and a change set sent into it of unknown outcome.
            "Connection": "close",
        }
        prepared = requests.Request(
            method, url, headers={**own, **headers, **self._login_headers}, data=body
        ).prepare()
        prepared.url = url  # as the provider's owner wrote it; prepare() rewrites escapes and dot segments
        return prepared
