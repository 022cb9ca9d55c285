"""Names and targets as ExternalDNS compares them.

ExternalDNS reads a name with IDNA's lookup profile, transitional and non-strict. The `idna` library
gives us the mapping tables; transitional processing it no longer has, so its five characters are
replaced here before the mapping.
"""

import re
from ipaddress import IPv6Address

import idna

from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint, EndpointKey
from providers.wire.errors import WireError

MAX_NAME_LENGTH = 253
MAX_LABEL_LENGTH = 63
# No name of 253 characters comes out of more than this; it bounds the work on hostile input.
MAX_SPELLING_LENGTH = 1024

# Only our own fixed patterns are given to Python's `re`.
_PLAIN_NAME = re.compile(r"[a-z0-9_*-]{1,63}+(?:\.[a-z0-9_*-]{1,63}+)*+").fullmatch
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\xa0]").search
# Sharp s, final sigma and the zero-width (non-)joiner are IDNA's "deviation" characters. Capital sharp s
# joins them: the tables ExternalDNS is built with map it to `ss`, newer ones to the small letter.
_TRANSITIONAL = str.maketrans({"ß": "ss", "ẞ": "ss", "\u03c2": "\u03c3", "\u200c": "", "\u200d": ""})
# Route 53 shows a wildcard as the escape of its asterisk.
_ESCAPED_ASTERISK = "\\052"
_ACE_PREFIX = "xn--"
# TXT and NAPTR targets are text: a last dot belongs to it. Everywhere else it ends a name.
_TYPES_WITH_TEXT = ("TXT", "NAPTR")
# A million keys share the texts of their types.
_SHARED_TYPES = {record_type: record_type for record_type in KNOWN_RECORD_TYPES}


class InvalidName(WireError):
    """The text cannot be a DNS name."""


def canonical_name(text: str) -> str:
    """The one spelling used for matching: lower case, ASCII, no trailing dot.

    Raises InvalidName for what cannot be a name: empty, an empty label, a label over 63 or a name
    over 253 characters, white space, control characters, characters IDNA disallows.
    """
    if _PLAIN_NAME(text) and len(text) <= MAX_NAME_LENGTH:
        return text
    name = _map_name(text, transitional=True)
    _raise_if_impossible(name)
    return name


def unicode_name(text: str) -> str:
    """The canonical name with its `xn--` labels decoded, as ExternalDNS gives it to the patterns of a domain
    filter. What cannot be a name, or does not decode, is only lowered."""
    try:
        name = canonical_name(text)
    except InvalidName:
        return text.removesuffix(".").lower()
    if _ACE_PREFIX not in name:
        return name
    return ".".join(_decode_label(label) for label in name.split("."))


def has_second_reading(text: str) -> bool:
    """True where another program may read this spelling as another name.

    That is: where IDNA's transitional and non-transitional readings differ, where an `xn--` label is
    not what encoding its own text gives, and where a backslash escape stands for anything but the
    asterisk of a wildcard. A guard refuses such names, a mirror says so. Raises InvalidName.
    """
    if _PLAIN_NAME(text) and _ACE_PREFIX not in text:
        return False
    name = canonical_name(text)
    if "\\" in name or name != _map_name(text, transitional=False):
        return True
    return any(_is_odd_ace(label) for label in name.split(".") if label.startswith(_ACE_PREFIX))


def endpoint_key(endpoint: Endpoint) -> EndpointKey:
    """The identity used for matching. Raises InvalidName."""
    record_type = endpoint.record_type
    return EndpointKey(
        canonical_name(endpoint.dns_name),
        _SHARED_TYPES.get(record_type) or record_type.upper(),
        endpoint.set_identifier,
    )


def canonical_target(record_type: str, target: str) -> str:
    """The spelling of a target used for comparing only; what is sent back is always the raw one.

    ExternalDNS compares targets without regard to case, so TXT is lowered too: it sees no difference
    there and plans no update, and neither may we. Ciphertexts and claims do differ by case: whoever
    reads a claim reads the raw target.
    """
    kind = record_type.upper()
    lowered = target.lower()
    if kind == "TXT":
        return _without_quotes(lowered)
    if kind == "AAAA" or ":" in lowered:
        return _canonical_address(lowered)
    if kind in _TYPES_WITH_TEXT or lowered.endswith(" .") or lowered == ".":
        return lowered  # the lone dot is the root: an SRV with it says "no such service"
    return lowered.removesuffix(".")


def canonical_targets(endpoint: Endpoint) -> tuple[str, ...]:
    """The targets as a set, in a fixed order, so that equal sets are equal tuples."""
    return tuple(sorted({canonical_target(endpoint.record_type, target) for target in endpoint.targets}))


def reversed_name(name: str) -> str:
    """`www.example.org` as `org.example.www`: what lies below a suffix then shares a prefix."""
    return ".".join(reversed(name.split(".")))


def _map_name(text: str, *, transitional: bool) -> str:
    """Map to lower-case ASCII without the trailing dot; lengths are not looked at here."""
    if len(text) > MAX_SPELLING_LENGTH:
        raise InvalidName(f"a spelling of {len(text)} characters is no name", path="dnsName")
    if text.isascii():
        name = text.lower()
    else:
        name = _map_unicode(text.translate(_TRANSITIONAL) if transitional else text)
    name = name.removesuffix(".")
    if name.startswith(f"{_ESCAPED_ASTERISK}."):
        name = f"*{name.removeprefix(_ESCAPED_ASTERISK)}"
    return name


def _map_unicode(text: str) -> str:
    try:
        mapped = idna.uts46_remap(text, std3_rules=False)
    except idna.IDNAError:
        raise InvalidName("a character that no name may have in it", path="dnsName") from None
    return ".".join(_ascii_label(label) for label in mapped.split("."))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return f"{_ACE_PREFIX}{label.encode('punycode').decode('ascii')}"
    except UnicodeError:
        raise InvalidName("a label that has no ASCII form", path="dnsName") from None


def _raise_if_impossible(name: str) -> None:
    if not name:
        raise InvalidName("a name is missing", path="dnsName")
    if _UNPRINTABLE(name):
        raise InvalidName("white space or a control character in a name", path="dnsName")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(f"a name of {len(name)} characters, more than {MAX_NAME_LENGTH}", path="dnsName")
    for label in name.split("."):
        if not label:
            raise InvalidName("an empty label in a name", path="dnsName")
        if len(label) > MAX_LABEL_LENGTH:
            reason = f"a label of {len(label)} characters, more than {MAX_LABEL_LENGTH}"
            raise InvalidName(reason, path="dnsName")


def _decode_label(label: str) -> str:
    if not label.startswith(_ACE_PREFIX):
        return label
    try:
        return label.removeprefix(_ACE_PREFIX).encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _is_odd_ace(label: str) -> bool:
    """An `xn--` label that does not decode, or decodes to text whose own encoding is another label."""
    try:
        decoded = label.removeprefix(_ACE_PREFIX).encode("ascii").decode("punycode")
        return decoded.isascii() or _map_unicode(decoded) != label
    except (UnicodeError, InvalidName):
        return True


def _without_quotes(text: str) -> str:
    """One pair of enclosing double quotes is how a TXT target is usually wrapped, and may be missing."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text


def _canonical_address(text: str) -> str:
    try:
        return IPv6Address(text).compressed
    except ValueError:
        return text.removesuffix(".")
