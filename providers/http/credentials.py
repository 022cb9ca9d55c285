"""How we show who we are to a provider. Frozen values whose repr never holds a secret (I18)."""

import base64
from dataclasses import dataclass
from urllib.parse import quote

from providers.http.errors import InvalidCredentials

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

    def headers(self) -> dict[str, str]:
        """Return the request headers that carry the login."""
        return {"Authorization": self.login.header_value()} if self.login else {}

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        return self.login.secrets() if self.login else ()


NO_CREDENTIALS = Credentials()
