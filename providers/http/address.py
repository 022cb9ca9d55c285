"""A provider's URL, read strictly: what two programs could read in two ways is refused."""

import ipaddress
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit

import idna

from providers.http.credentials import BasicLogin
from providers.http.errors import InvalidAddress

MAX_URL_LENGTH = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
# Shorter values of a query are switches; blotting them out would garble every message.
SHORTEST_TOKEN = 8

_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, repr=False)
class ProviderAddress:
    """Where a provider listens.

    `host` is lower-case ASCII without brackets; `path` is as written, `""` if there was none.
    User-info is not part of the address any more: it is `login`. Showing the address (`str`, `repr`)
    shows neither the login nor the query, where some people keep tokens.
    """

    scheme: str
    host: str
    port: int
    path: str = ""
    query: str = ""
    login: BasicLogin | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"

    def __repr__(self) -> str:
        return f"ProviderAddress({self})"

    @property
    def origin(self) -> str:
        """Scheme, host and port, without the port a scheme has anyway."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (
            f"{self.scheme}://{host}"
            if self.port == DEFAULT_PORTS[self.scheme]
            else f"{self.scheme}://{host}:{self.port}"
        )

    @property
    def place(self) -> str:
        """The same text for every spelling of one place: slashes, dot segments, the last dot of the host and
        the query do not count."""
        return replace(self, host=self.host.removesuffix("."), query="").joined("")

    @property
    def base_url(self) -> str:
        """The URL as it was given, no slash added: where negotiation happens."""
        return f"{self.origin}{self.path}{self._query_part()}"

    def joined(self, segment: str) -> str:
        """Return the URL of `segment` below the base, joined as Go's `URL.JoinPath` does.

        Double slashes and dot segments of the base vanish, its query stays.
        """
        kept: list[str] = []
        for part in f"{self.path}/{segment}".split("/"):
            if part == "..":
                del kept[-1:]
            elif part not in ("", "."):
                kept.append(part)
        return f"{self.origin}/{'/'.join(kept)}{self._query_part()}"

    def secrets(self) -> tuple[str, ...]:
        """Return the texts of the query that must never be shown: it whole, and what may be a token in it."""
        values = [part.partition("=")[2] for part in self.query.split("&")]
        tokens = [text for text in (self.query, *values) if len(text) >= SHORTEST_TOKEN]
        return (*tokens, *map(unquote, tokens))

    def _query_part(self) -> str:
        return f"?{self.query}" if self.query else ""


def parse_provider_url(url: str) -> ProviderAddress:
    """Read a provider's URL; raises InvalidAddress, whose text never repeats the URL."""
    _raise_if_unreadable(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # The cause is left out: with a slash in a password, the "port" it quotes is half of that password.
        raise _invalid("its host or port cannot be read") from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise _invalid("it does not begin with http:// or https://")
    if port == 0:
        raise _invalid("port 0 is not a port")
    return ProviderAddress(
        scheme=scheme,
        host=_parse_host(parts),
        port=DEFAULT_PORTS[scheme] if port is None else port,
        path=parts.path,
        query=parts.query,
        login=_split_login(parts),
    )


def _invalid(reason: str) -> InvalidAddress:
    return InvalidAddress(
        f"This URL cannot be used for a provider: {reason}.",
        hint="Write it as http://host:port/path or https://host:port/path.",
    )


def _raise_if_unreadable(url: str) -> None:
    if len(url) > MAX_URL_LENGTH:
        raise _invalid(f"it is longer than {MAX_URL_LENGTH} characters")
    # urlsplit drops tabs and line breaks silently, and would read another URL than the one shown.
    if not url.isprintable() or any(c.isspace() for c in url):
        raise _invalid("it holds a space or a control character")
    if "\\" in url:
        raise _invalid("it holds a backslash, which programs read in different ways")
    if "#" in url:
        raise _invalid("it has a fragment (#...), which is never sent to a server")


def _split_login(parts: SplitResult) -> BasicLogin | None:
    if "@" not in parts.netloc:
        return None
    if parts.netloc.count("@") > 1:
        raise _invalid("it holds more than one @; write the one in a password as %40")
    try:
        username = unquote(parts.username or "", errors="strict")
        password = unquote(parts.password or "", errors="strict")
    except UnicodeDecodeError:
        # The cause is left out: it would quote the password.
        raise _invalid("its user name or password is not UTF-8 once decoded") from None
    return BasicLogin(username, password)


def _parse_host(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    if not host:
        raise _invalid("it names no host")
    literal = _parse_literal(host)
    if literal:
        return literal
    if "[" in parts.netloc:
        raise _invalid("its IPv6 address cannot be read; a zone (%eth0) is not allowed")
    return _parse_name(host)


def _parse_literal(host: str) -> str:
    """Return the address a host stands for when it is written as one, else an empty text."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        return ""
    return str(address)


def _parse_name(host: str) -> str:
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as exc:
            raise _invalid("its international host name is not a valid one") from exc
    labels = host.removesuffix(".").split(".")
    if not _HOST_CHARACTERS.issuperset(host) or not all(0 < len(label) <= 63 for label in labels):
        raise _invalid("its host name is not a valid one")
    if len(host.removesuffix(".")) > 253:
        raise _invalid("its host name is longer than 253 characters")
    # 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1 to a C library. A top-level label is never a number.
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        raise _invalid("its address is written in an unusual form; write all four numbers in decimal")
    return host
