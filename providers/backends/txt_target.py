"""A TXT target on the wire and the bytes it stands for, both ways. Pure.

On the wire it is the text between double quotes, with `"` and `\\` escaped by a backslash and what is not
printable as `\\DDD`. Several strings in quotes are read as one.
"""

import re
from collections.abc import Mapping, Sequence

from providers.registries.encryption import decrypt_labels_text, looks_encrypted
from providers.registries.labels import parse_labels
from providers.wire.endpoint import Endpoint

_LONGEST_STRING = 255
_QUOTED_STRING = re.compile(r'"((?:[^"\\]|\\[0-9]{3}|\\[^0-9])*)"')
_ESCAPE = re.compile(r"\\([0-9]{3}|.)", re.DOTALL)

FORCE_UPDATE = "txt/force-update"
# ExternalDNS's own: what it notes on an endpoint for its registry, and never means for a provider.
REGISTRY_PROPERTIES = "txt/"


def parse_txt_target(target: str) -> bytes:
    """The bytes a TXT target stands for. A target without quotes is taken as it is, backslashes included."""
    text = target.strip()
    if len(text) < 2 or not text.startswith('"'):
        return target.encode("utf-8")
    content: list[bytes] = []
    position = 0
    while position < len(text):
        found = _QUOTED_STRING.match(text, position)
        if found is None:
            raise ValueError('its double quotes do not pair up; write an inner one as \\"')
        content.append(_unescape(found.group(1)))
        position = found.end()
        while position < len(text) and text[position] == " ":
            position += 1
    return b"".join(content)


def format_txt_target(content: bytes) -> str:
    """A TXT content as its target on the wire, in double quotes."""
    pieces = [_escape_character(each) for each in content.decode("utf-8", "surrogateescape")]
    return f'"{"".join(pieces)}"'


def split_strings(content: bytes) -> list[bytes]:
    """A TXT content as the strings of a record, 255 bytes each at most."""
    starts = range(0, max(1, len(content)), _LONGEST_STRING)
    return [content[start : start + _LONGEST_STRING] for start in starts]


def _unescape(text: str) -> bytes:
    def replace(found: re.Match[str]) -> str:
        escaped = found.group(1)
        if len(escaped) == 1:
            return escaped
        if int(escaped) > 255:
            raise ValueError(f"\\{escaped} is not a byte")
        # A byte above 127 is carried as the lone surrogate that `surrogateescape` turns back into it.
        return chr(int(escaped)) if int(escaped) < 128 else chr(0xDC00 + int(escaped))

    return _ESCAPE.sub(replace, text).encode("utf-8", "surrogateescape")


def _escape_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\{code - 0xDC00:03d}"
    if code < 32 or 127 <= code < 160:
        return "".join(f"\\{byte:03d}" for byte in character.encode("utf-8"))
    return character


class ClaimTexts:
    """Reads claims; encrypted ones where one of the keys opens them."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = tuple(keys)

    def labels(self, target: str) -> Mapping[str, str] | None:
        """The labels of a claim; None for any other text, and for what no key opens."""
        text = read_text(target)
        found = parse_labels(text)
        if found is None and self._keys and looks_encrypted(text):
            opened = (decrypt_labels_text(text, key) for key in self._keys)
            plain = next((each.plain for each in opened if each is not None), None)
            found = parse_labels(plain) if plain is not None else None
        return found

    def is_same(self, one: str, other: str) -> bool:
        """True if two targets are the same text, or claims with the same labels: owner, resource and all
        others. Their order, the split into strings and the encryption do not count. What no key opens is
        the same only byte for byte."""
        if read_text(one) == read_text(other):
            return True
        labels = self.labels(one)
        return labels is not None and labels == self.labels(other)


def is_claim_text(target: str) -> bool:
    """Whether a target is a claim, or has the form of an encrypted one."""
    text = read_text(target)
    return parse_labels(text) is not None or looks_encrypted(text)


def is_claim(endpoint: Endpoint) -> bool:
    """Whether a TXT endpoint that somebody sent states a claim."""
    return endpoint.record_type.upper() == "TXT" and any(map(is_claim_text, endpoint.targets))


def read_text(target: str) -> str:
    """The text a TXT target stands for, however it is quoted, escaped and split."""
    try:
        return parse_txt_target(target).decode("utf-8", "surrogateescape")
    except ValueError:
        return target


def put_claims_first(targets: Sequence[str]) -> tuple[str, ...]:
    """The same targets, claims before other texts: of a TXT record set ExternalDNS reads the first alone."""
    if len(targets) < 2:
        return tuple(targets)
    return tuple(sorted(targets, key=lambda target: parse_labels(read_text(target)) is None))


def meaningful_properties(endpoint: Endpoint) -> dict[str, str]:
    """The properties that ask a provider for something, by name: without those of ExternalDNS's registry, and
    without `alias` `false`, which asks for what happens anyway."""
    return {
        each.name: each.value
        for each in endpoint.provider_specific
        if not each.name.startswith(REGISTRY_PROPERTIES) and (each.name, each.value) != ("alias", "false")
    }
