"""How we show who we are to a provider. Frozen values whose repr never holds a secret (I18)."""

import base64
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.ssl_ import ALPN_PROTOCOLS

from providers.http.errors import InvalidCredentials
from providers.http.exchange import WatchedTlsSocket

HIDDEN = "[secret]"


def _raise_if_unfit_for_a_header(text: str, what: str) -> None:
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        raise InvalidCredentials(
            f"The {what} holds a control character, so it was not used.",
            hint="Usually it is a line break at the end: enter it again without one.",
        )


@dataclass(frozen=True, repr=False)
class BasicLogin:
    """A user name and a password, sent as HTTP Basic authentication (RFC 7617, in UTF-8)."""

    username: str
    password: str

    def __post_init__(self) -> None:
        _raise_if_unfit_for_a_header(self.username, "user name")
        _raise_if_unfit_for_a_header(self.password, "password")
        if ":" in self.username:
            raise InvalidCredentials(
                "The user name holds a colon, which HTTP Basic authentication cannot carry.",
                hint="Choose a user name without a colon.",
            )

    def __repr__(self) -> str:
        return f"BasicLogin({self.username!r}, {HIDDEN})"

    def header_value(self) -> str:
        """Return the value of the Authorization header."""
        return f"Basic {self._encoded()}"

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        return (self.password, quote(self.password, safe=""), self._encoded())

    def _encoded(self) -> str:
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")


@dataclass(frozen=True, repr=False)
class BearerLogin:
    """A token, sent as a bearer token (RFC 6750)."""

    token: str

    def __post_init__(self) -> None:
        _raise_if_unfit_for_a_header(self.token, "bearer token")
        if not self.token or not self.token.isascii() or " " in self.token:
            raise InvalidCredentials(
                "A bearer token is one or more ASCII characters without a space; this one was not used.",
                hint="Enter the token alone, without the word Bearer.",
            )

    def __repr__(self) -> str:
        return f"BearerLogin({HIDDEN})"

    def header_value(self) -> str:
        """Return the value of the Authorization header."""
        return f"Bearer {self.token}"

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        return (self.token,)


Login = BasicLogin | BearerLogin


@dataclass(frozen=True, repr=False)
class Credentials:
    """All we show a provider and all we trust of it.

    `ca_pem` replaces the public certificate authorities, it does not add to them.
    `client_certificate_pem` (with its chain) and `client_key_pem` (unencrypted) come together or not at all.
    """

    login: Login | None = None
    ca_pem: str = ""
    client_certificate_pem: str = ""
    client_key_pem: str = ""

    def __post_init__(self) -> None:
        if bool(self.client_certificate_pem) != bool(self.client_key_pem):
            raise InvalidCredentials(
                "A client certificate and its key are used together; one of the two is missing.",
                hint="Give both, or neither.",
            )

    def __repr__(self) -> str:
        ca = "custom" if self.ca_pem else "public"
        certificate = "given" if self.client_certificate_pem else "none"
        return f"Credentials(login={self.login!r}, ca={ca}, client_certificate={certificate})"

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        return self.login.secrets() if self.login else ()


NO_CREDENTIALS = Credentials()


class _SharedContext(ssl.SSLContext):
    """A context that connections of several threads share."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Nothing: urllib3 asks for it at each connection, and OpenSSL frees what a connection that another
        thread makes may be reading. They are set once, where the context is made."""


def build_tls_context(credentials: Credentials) -> ssl.SSLContext:
    """Return a context that verifies the certificate and the name, always; there is no way to turn it off.

    Raises InvalidCredentials when a certificate or key cannot be read.
    """
    if not credentials.ca_pem and not credentials.client_certificate_pem:
        return _build_public_context(Path(DEFAULT_CA_BUNDLE_PATH).stat().st_mtime_ns)
    context = _build_context(ssl.SSLContext)
    if credentials.ca_pem:
        _trust_only(context, credentials.ca_pem)
    else:
        context.load_verify_locations(cafile=DEFAULT_CA_BUNDLE_PATH)
    if credentials.client_certificate_pem:
        _load_client_certificate(context, credentials)
    return context


@lru_cache(maxsize=1)
def _build_public_context(_changed_at: int) -> ssl.SSLContext:
    """One for all: to read the public authorities takes 40 ms, and it holds nothing of any provider. Made
    again when their file changes."""
    context = _build_context(_SharedContext)
    ssl.SSLContext.set_alpn_protocols(context, ALPN_PROTOCOLS)
    context.load_verify_locations(cafile=DEFAULT_CA_BUNDLE_PATH)
    return context


def _build_context(kind: type[ssl.SSLContext]) -> ssl.SSLContext:
    context = kind(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = WatchedTlsSocket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _trust_only(context: ssl.SSLContext, ca_pem: str) -> None:
    try:
        context.load_verify_locations(cadata=ca_pem)
    except (ssl.SSLError, ValueError, TypeError) as exc:
        raise InvalidCredentials(
            "The CA certificate could not be read, so the provider was not contacted.",
            hint="Paste one or more certificates in PEM form, each with its BEGIN and END line.",
        ) from exc


def _load_client_certificate(context: ssl.SSLContext, credentials: Credentials) -> None:
    # OpenSSL's loader takes files only. The folder is 0700, the file 0600, and both are gone
    # before the first connection is made.
    with tempfile.TemporaryDirectory(prefix="dnsadmin-") as folder:
        pem = Path(folder) / "client.pem"
        pem.touch(mode=0o600)
        pem.write_text(f"{credentials.client_key_pem}\n{credentials.client_certificate_pem}\n")
        try:
            # Without a password given, OpenSSL would ask for one on the terminal and wait for ever.
            context.load_cert_chain(pem, password="")
        except (ssl.SSLError, ValueError, OSError):
            # Nothing of the cause is kept: it could quote the key.
            raise InvalidCredentials(
                "The client certificate or its key could not be read, so the provider was not contacted.",
                hint="Give both in PEM form, the key unencrypted and belonging to the certificate.",
            ) from None
