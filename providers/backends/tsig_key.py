"""The key that signs zone transfers and updates. Its secret never shows."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import dns.exception
import dns.name
import dns.tsig

from providers.backends.errors import BackendError

_ALGORITHMS = {
    "hmac-sha256": dns.tsig.HMAC_SHA256,
    "hmac-sha384": dns.tsig.HMAC_SHA384,
    "hmac-sha512": dns.tsig.HMAC_SHA512,
}
_NAME, _SECRET, _ALGORITHM = "RFC2136_TSIG_KEY_NAME", "RFC2136_TSIG_SECRET", "RFC2136_TSIG_ALGORITHM"
_LONGEST_FILE = 64 * 1024
# As `tsig-keygen` writes it: key "name" { algorithm hmac-sha256; secret "..."; };
_KEY_FILE = re.compile(r'key\s+"?([^"\s{]+)"?\s*\{([^}]*)\}')
_CLAUSE = re.compile(r'(algorithm|secret)\s+"?([^";\s]+)"?\s*;')


@dataclass(frozen=True)
class TsigKey:
    """A name, an algorithm and a secret that both sides know."""

    name: str
    algorithm: str
    secret: bytes = field(repr=False)

    def to_dnspython(self) -> dns.tsig.Key:
        """The library's own value."""
        return dns.tsig.Key(dns.name.from_text(self.name), self.secret, _ALGORITHMS[self.algorithm])


def fetch_tsig_key(path: Path | None, environment: Mapping[str, str]) -> TsigKey | None:
    """The key of a file as `tsig-keygen` writes it, or of the environment; None where neither names one.

    Raises BackendError, without the secret, for a key that cannot be used.
    """
    if path is not None:
        return _parse_key_file(path)
    name, secret = environment.get(_NAME, ""), environment.get(_SECRET, "")
    if not name and not secret:
        return None
    if not name or not secret:
        raise BackendError(f"{_NAME} and {_SECRET} go together; set both or neither.")
    return _make_key(name, environment.get(_ALGORITHM, "hmac-sha256"), secret)


def _parse_key_file(path: Path) -> TsigKey:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST_FILE)
    except (OSError, UnicodeDecodeError) as error:
        raise BackendError(f"The key file {path.name} cannot be read.") from error
    found = _KEY_FILE.search(text)
    clauses = dict(_CLAUSE.findall(found.group(2))) if found else {}
    if found is None or "secret" not in clauses:
        raise BackendError(f"{path.name} holds no key; write it with tsig-keygen.")
    return _make_key(found.group(1), clauses.get("algorithm", "hmac-sha256"), clauses["secret"])


def _make_key(name: str, algorithm: str, secret: str) -> TsigKey:
    if algorithm.lower().removesuffix(".") not in _ALGORITHMS:
        raise BackendError(f"The TSIG algorithm {algorithm[:40]} is not one of {', '.join(_ALGORITHMS)}.")
    try:
        dns.name.from_text(name)
        content = base64.b64decode(secret, validate=True)
    except (dns.exception.DNSException, binascii.Error):
        raise BackendError("The TSIG key's name or its secret, which is base64, cannot be read.") from None
    return TsigKey(name, algorithm.lower().removesuffix("."), content)
